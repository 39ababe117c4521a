package agent.launcher.view;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.conductor.ModuleHealth;
import agent.conductor.ModuleHealth.Level;
import agent.contract.daemon.DaemonStatusModel.ComponentStatus;
import agent.contract.daemon.ModuleHealthModel;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Names of the levels, times, and which module decides the state of the agent. */
class ModuleHealthEncoderTest {
  private static final ModuleHealth FINE =
      new ModuleHealth("fine", Level.OK, "good", 1_795_320_306_007L, 1_795_320_306_500L);
  private static final ModuleHealth SLOW =
      new ModuleHealth("slow", Level.DEGRADED, "late", 0, 1_795_320_306_000L);
  private static final ModuleHealth SLOWER =
      new ModuleHealth("slower", Level.DEGRADED, "later", 1, 1);
  private static final ModuleHealth GONE = new ModuleHealth("gone", Level.STOPPED, "ended", 1, 1);
  private static final ModuleHealth NEW = new ModuleHealth("new", Level.UNKNOWN, "not asked", 0, 0);

  @Test
  void shouldEncodeLevelsAndTimes() {
    assertEquals(
        List.of(
            new ModuleHealthModel.Module(
                "2026-11-22T04:05:06.007Z", "2026-11-22T04:05:06.500Z", "OK", "good", "fine"),
            new ModuleHealthModel.Module(
                null, "2026-11-22T04:05:06.000Z", "Degraded", "late", "slow"),
            new ModuleHealthModel.Module(
                "1970-01-01T00:00:00.001Z", "1970-01-01T00:00:00.001Z", "Stopped", "ended", "gone"),
            new ModuleHealthModel.Module(null, null, "Unknown", "not asked", "new")),
        ModuleHealthEncoder.encode(List.of(FINE, SLOW, GONE, NEW), false).modules());
  }

  @Test
  void shouldLeaveOutInBriefWhatIsOk() {
    assertEquals(
        List.of("slow", "gone", "new"),
        ModuleHealthEncoder.encode(List.of(FINE, SLOW, GONE, NEW), true).modules().stream()
            .map(ModuleHealthModel.Module::moduleId)
            .toList());
  }

  @Test
  void shouldTakeTheStateOfTheWorstModuleAndNameAllThatAreNotOk() {
    assertEquals(
        new ComponentStatus("all 0 modules are OK", "Ok"), ModuleHealthEncoder.overall(List.of()));
    final ComponentStatus fine = new ComponentStatus("all 2 modules are OK", "Ok");
    assertEquals(fine, ModuleHealthEncoder.overall(List.of(FINE, NEW)));
    assertEquals(
        new ComponentStatus("slow: late; slower: later", "Warning"),
        ModuleHealthEncoder.overall(List.of(FINE, SLOW, SLOWER)));
    assertEquals(
        new ComponentStatus("gone: ended; slow: late; slower: later", "Failure"),
        ModuleHealthEncoder.overall(List.of(SLOW, SLOWER, GONE)));
  }
}
