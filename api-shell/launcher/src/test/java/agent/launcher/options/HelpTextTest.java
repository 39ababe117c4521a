package agent.launcher.options;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

/** Lines of the help text. */
class HelpTextTest {
  private final List<String> lines = HelpText.text().lines().toList();

  private void assertShown(String line) {
    assertTrue(lines.contains(line), () -> line + " is not in\n" + String.join("\n", lines));
  }

  @Test
  void shouldAlignTheMeaningsAndShowDefaultsAndChoices() {
    assertShown("  -D, --debug                                 Log at debug level");
    assertShown("      --enable-ipv4                           Enable IPv4 (default true)");
    assertShown(
        "  -d, --device string                         Network-facing devices: names,"
            + " patterns, auto (default undefined)");
    assertShown(
        "      --prefilter-mode string                 XDP mode of the prefilter:"
            + " native, generic (default native)");
    assertShown(
        "      --lb string                             Interface on which services are"
            + " load-balanced");
    assertShown(
        "      --api-rate-limit map                    Rate limits by operation class:"
            + " read=10/s");
  }

  @Test
  void shouldListEachOptionInItsGroupAlone() {
    for (final OptionGroup group : OptionGroup.values()) {
      final List<String> section = lines.subList(lines.indexOf(group.title() + ":"), lines.size());
      final List<String> names =
          section.stream()
              .takeWhile(line -> !line.isEmpty())
              .filter(line -> line.matches("  (    |-., )--.*"))
              .map(line -> line.substring(8).split(" ")[0])
              .toList();
      assertEquals(
          OptionTable.all().stream()
              .filter(option -> option.group() == group)
              .map(AgentOption::name)
              .toList(),
          names);
    }
  }

  @Test
  void shouldWrapANameThatIsTooLongForItsColumn() {
    final int at = lines.indexOf("      --conntrack-garbage-collector-interval duration");
    assertEquals(
        " ".repeat(46) + "Interval of the conntrack garbage collection (default 60)",
        lines.get(at + 1));
    for (final String line : lines.subList(lines.indexOf("General:"), lines.size())) {
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
    assertEquals("Usage: agent [OPTION]...", lines.getFirst());
    assertEquals("       agent cleanup [--help]", lines.get(1));
    assertShown("Options marked * are known, but not supported by this version.");
    assertShown("Exit codes: 0 stopped by a signal, 1 failure, 2 bad option, 3 another agent uses");
    assertEquals("General:", lines.get(10));
    assertEquals("", lines.get(9));
  }
}
