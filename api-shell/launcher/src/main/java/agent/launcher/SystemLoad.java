package agent.launcher;

import agent.types.IoFailure;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Consumer;

/** The load of the node and of this process in one line of the log, while an option wants it. */
final class SystemLoad {
  private static final int AVERAGES = 3;
  private static final long KIB_PER_MIB = 1024;

  private final Path proc;
  private final Consumer<String> log;
  private volatile boolean isEnabled;

  /**
   * Creates it switched off.
   *
   * @param proc {@code /proc}, or another folder in a test
   * @param log takes the line
   */
  SystemLoad(Path proc, Consumer<String> log) {
    this.proc = proc;
    this.log = log;
  }

  /** Switches it on or off; it logs at once where it was off. */
  void enable(boolean enabled) {
    final boolean before = isEnabled;
    isEnabled = enabled;
    if (!before) {
      log();
    }
  }

  /** Logs one line where it is on. */
  void log() {
    if (isEnabled) {
      log.accept(line());
    }
  }

  private String line() {
    try {
      final String[] averages = Files.readString(proc.resolve("loadavg")).split(" ");
      final List<String> memory = Files.readAllLines(proc.resolve("meminfo"));
      final List<String> self = Files.readAllLines(proc.resolve("self/status"));
      return "system load %s, memory %d MiB available of %d MiB; the agent has %d MiB, %d threads"
          .formatted(
              String.join(" ", List.of(averages).subList(0, AVERAGES)),
              number(memory, "MemAvailable:") / KIB_PER_MIB,
              number(memory, "MemTotal:") / KIB_PER_MIB,
              number(self, "VmRSS:") / KIB_PER_MIB,
              number(self, "Threads:"));
    } catch (IOException e) {
      return "system load: " + IoFailure.sentence(e);
    }
  }

  private static long number(List<String> lines, String name) {
    return lines.stream()
        .filter(line -> line.startsWith(name))
        .map(line -> Long.parseLong(line.replaceAll("[^0-9]", "")))
        .findFirst()
        .orElse(0L);
  }
}
