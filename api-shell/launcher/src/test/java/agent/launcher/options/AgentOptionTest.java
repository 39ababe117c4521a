package agent.launcher.options;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

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
        List.of(inert));
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

  @Test
  void shouldBeServedUnlessItNeedsSomething() {
    assertTrue(served().served());
    assertFalse(served().needing("tunnels").served());
    assertEquals("AGENT_AN_OPTION", served().environmentName());
  }
}
