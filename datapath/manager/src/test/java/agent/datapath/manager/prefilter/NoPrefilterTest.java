package agent.datapath.manager.prefilter;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import agent.datapath.spec.PrefilterList;
import agent.types.Prefix;
import agent.types.Refusal;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

class NoPrefilterTest {
  private final NoPrefilter prefilter = new NoPrefilter();

  private static void assertDisabled(Executable change) {
    final Refusal refusal = assertThrows(Refusal.class, change);
    assertEquals(Refusal.Kind.DISABLED, refusal.kind());
    assertEquals(
        "the prefilter is disabled: --prefilter-device names no device", refusal.getMessage());
  }

  @Test
  void shouldHaveAnEmptyListAndRefuseEveryChange() {
    assertEquals(PrefilterList.EMPTY, prefilter.get());
    final List<Prefix> one = List.of(Prefix.parse("10.0.0.0/8"));
    assertDisabled(() -> prefilter.add(OptionalLong.empty(), one));
    assertDisabled(() -> prefilter.remove(OptionalLong.of(1), one));
    assertEquals(PrefilterList.EMPTY, prefilter.get());
  }
}
