package agent.launcher.options;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.types.NumberOption;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The rows of the table of options. */
class AgentOptionTest {
  private static final OptionGroup GROUP = OptionGroup.values()[0];

  private static AgentOption served() {
    return AgentOption.served(GROUP, "an-option", OptionType.INT, "5", "Says how many");
  }

  private static AgentOption option(
      char letter, List<String> choices, long lowest, long highest, String needs, String... inert) {
    return new AgentOption(
        "an-option",
        letter,
        OptionType.INT,
        "5",
        GROUP,
        "Says how many",
        choices,
        lowest,
        highest,
        needs,
        List.of(inert),
        false);
  }

  @Test
  void shouldHaveWhatItsRowSaysAndNothingElse() {
    final int most = Integer.MAX_VALUE;
    assertEquals(option('\0', List.of(), 0, most, null), served());
    assertEquals(
        option('\0', List.of(), 0, most, "a later version of the agent"),
        AgentOption.later(GROUP, "an-option", OptionType.INT, "5", "Says how many"));
    assertEquals(option('n', List.of(), 0, most, null), served().withShort('n'));
    assertEquals(option('\0', List.of("1", "5"), 0, most, null), served().withChoices("1", "5"));
    assertEquals(option('\0', List.of(), 2, 9, null), served().withRange(2, 9));
    assertEquals(option('\0', List.of(), 0, most, null, "0"), served().withInert("0"));
    assertEquals(option('\0', List.of(), 0, most, "tunnels"), served().needing("tunnels"));
    assertEquals(
        option('n', List.of("5"), 2, 9, "tunnels", "0"),
        served().withShort('n').withChoices("5").withRange(2, 9).withInert("0").needing("tunnels"));
  }

  /** What a part declares is the same row as one that repeats its numbers. */
  @Test
  void shouldHaveTheNumbersThatAPartDeclares() {
    final NumberOption declared = new NumberOption("an-option", 5, 2, 9);
    assertEquals(
        served().withRange(2, 9),
        AgentOption.served(GROUP, declared, OptionType.INT, "Says how many"));
    assertTrue(declared.allows(2) && declared.allows(9));
    assertEquals(
        "an-option: 10 is not between 2 and 9",
        assertThrows(IllegalArgumentException.class, () -> declared.check(10)).getMessage());
    assertThrows(IllegalArgumentException.class, () -> declared.check(1));
    assertEquals(Integer.MAX_VALUE, new NumberOption("an-option", 5, 2).highest());
  }

  @Test
  void shouldChangeWhileTheAgentRunsWhereItsRowSaysSo() {
    assertFalse(served().isLive());
    assertTrue(served().live().withInert("0").isLive());
  }

  @Test
  void shouldBeServedUnlessItNeedsSomething() {
    assertTrue(served().served());
    assertFalse(served().needing("tunnels").served());
    assertEquals("AGENT_AN_OPTION", served().environmentName());
  }
}
