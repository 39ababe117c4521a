package agent.launcher.options;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

/** Lines of the help text. */
class HelpTextTest {
  private static final List<String> LINES = HelpText.text().lines().toList();

  private static void assertShown(String line) {
    assertTrue(LINES.contains(line), () -> line + " is not in\n" + String.join("\n", LINES));
  }

  @Test
  void shouldAlignTheMeaningsAndShowDefaultsAndChoices() {
    assertShown("  -D, --debug                                 Log at debug level");
    assertShown("      --enable-ipv4                           Serve IPv4 (default true)");
    assertShown(
        "  -d, --device string                         Devices that face the network: names,"
            + " patterns, auto (default undefined)");
    assertShown(
        "      --prefilter-mode string                 Where XDP runs: driver or stack:"
            + " native, generic (default native)");
    assertShown("      --lb string *                           Interface to balance services on");
    assertShown("      --api-rate-limit map                    Calls a second by operation class");
  }

  @Test
  void shouldWrapANameThatIsTooLongForItsColumn() {
    final int at = LINES.indexOf("      --conntrack-garbage-collector-interval duration");
    assertEquals(
        " ".repeat(46) + "Time between sweeps of the conntrack tables (default 60)",
        LINES.get(at + 1));
    for (final String line : LINES.subList(LINES.indexOf("General:"), LINES.size())) {
      final boolean isOption = line.startsWith("  ") && !line.startsWith(" ".repeat(46));
      assertTrue(
          !isOption
              || line.length() < 46
              || line.charAt(45) == ' '
              || !line.contains("  (") && line.strip().split(" {2,}").length == 1,
          line);
    }
  }

  @Test
  void shouldSayHowToUseItAndWhatTheExitCodesMean() {
    assertEquals("Usage: agent [OPTION]...", LINES.getFirst());
    assertEquals("       agent cleanup [--help]", LINES.get(1));
    assertShown("Options marked * are known and not served by this version.");
    assertShown("Exit codes: 0 stopped by a signal, 1 failure, 2 bad option, 3 another agent uses");
    assertEquals("General:", LINES.get(10));
    assertEquals("", LINES.get(9));
  }
}
