package agent.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.launcher.options.AgentOption;
import agent.launcher.options.OptionTable;
import agent.launcher.options.OptionValues;
import agent.testkit.RecordedLog;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Which options a reload takes over, and which it leaves. */
class OptionReloadTest {
  private List<String> arguments = List.of();
  private final List<Settings> taken = new ArrayList<>();

  private OptionValues read() {
    return OptionValues.read(arguments, Map.of());
  }

  private OptionReload reload() {
    return new OptionReload(read(), this::read, taken::add);
  }

  @Test
  void shouldTakeOverWhatCanChangeAndOnlyOnce() {
    final OptionReload reload = reload();
    reload.run();
    assertEquals(0, taken.size(), "nothing has changed");
    arguments = List.of("--log-system-load");
    reload.run();
    reload.run();
    assertEquals(1, taken.size());
    assertTrue(taken.getFirst().logsSystemLoad());
    arguments = List.of();
    reload.run();
    assertEquals(2, taken.size());
    assertFalse(taken.getLast().logsSystemLoad());
  }

  @Test
  void shouldNotTakeOverWhatNeedsAStart() {
    final OptionReload reload = reload();
    arguments = List.of("--mtu=1400", "--allow-localhost=always");
    reload.run();
    assertEquals(0, taken.size());
  }

  @Test
  void shouldTakeOverNothingWhereAValueIsNotValid() {
    final OptionReload reload = reload();
    for (final String bad :
        List.of(
            "--api-rate-limit=x=1",
            "--debug-verbose=x",
            "--tunnel=geneve",
            "--nosuch",
            "--mtu=x")) {
      arguments = List.of("--enable-tracing", bad);
      reload.run();
      assertEquals(0, taken.size(), bad);
    }
    arguments = List.of("--enable-tracing");
    reload.run();
    assertEquals(1, taken.size());
  }

  @Test
  void shouldLogWhatHasChangedAndWhatWaitsForAStart() {
    try (RecordedLog log = RecordedLog.of(OptionReload.class)) {
      final OptionReload reload = reload();
      reload.run();
      arguments = List.of("--enable-tracing", "--mtu=1400");
      reload.run();
      arguments = List.of("--nosuch");
      reload.run();
      final List<String> lines = log.take();
      assertEquals(
          List.of(
              "INFO options reloaded: no change",
              "INFO options reloaded: --enable-tracing",
              "WARN --mtu takes effect only after a restart of the agent"),
          lines.subList(0, 3));
      assertTrue(lines.get(3).startsWith("ERROR options not reloaded: --nosuch"));
      assertEquals(4, lines.size());
    }
  }

  @Test
  void shouldChangeOnlyOptionsThatAreServed() {
    OptionTable.all().stream()
        .filter(AgentOption::isLive)
        .forEach(option -> assertTrue(option.served(), option.name()));
  }
}
