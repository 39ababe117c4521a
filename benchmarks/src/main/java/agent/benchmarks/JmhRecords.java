package agent.benchmarks;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The folder of JMH's results: a file for each run, whose name has the time of its start. */
final class JmhRecords {
  private static final String PREFIX = "jmh-";
  private static final String SUFFIX = ".json";
  private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("uuuuMMdd-HHmmss");
  private static final String ALLOCATED = "gc.alloc.rate.norm";

  private final Path folder;

  /** A folder that need not exist yet. */
  JmhRecords(Path folder) {
    this.folder = folder;
  }

  /**
   * Returns the folder of the user: {@code JMH_RECORDS}, or {@code agent-bench} in the cache of the
   * user, where {@code make clean} does not remove it.
   */
  static JmhRecords ofUser(Map<String, String> environment) {
    final String chosen = environment.get("JMH_RECORDS");
    if (chosen != null && !chosen.isEmpty()) {
      return new JmhRecords(Path.of(chosen));
    }
    final String cache = environment.get("XDG_CACHE_HOME");
    return new JmhRecords(
        cache == null || cache.isEmpty()
            ? Path.of(System.getProperty("user.home"), ".cache", "agent-bench")
            : Path.of(cache, "agent-bench"));
  }

  /**
   * Creates the folder and returns the file of a run that starts now.
   *
   * @param isProfiled whether a profiler slows the run, so that no other is compared with it
   */
  Path next(LocalDateTime now, boolean isProfiled) throws IOException {
    Files.createDirectories(folder);
    return folder.resolve((isProfiled ? "profiled-" : PREFIX) + TIME.format(now) + SUFFIX);
  }

  /**
   * The score of a benchmark.
   *
   * @param run the time of the run, as in the name of its file
   * @param time the time of an operation, in nanoseconds
   * @param error half the confidence interval (99.9 %), NaN for one iteration
   * @param bytes allocated by an operation, the median of the iterations: the last one has those of
   *     the end of the benchmark, too; NaN where not measured
   */
  record Score(String run, double time, double error, double bytes) {}

  /**
   * Returns the scores of a run by benchmark and parameters, in the order of the run; none of an
   * interrupted run, whose file is empty.
   */
  static Map<String, Score> read(Path file) {
    final String run = file.getFileName().toString().replaceAll("^[a-z]+-|\\.json$", "");
    final Map<String, Score> scores = new LinkedHashMap<>();
    for (final JsonNode result : JsonMapper.shared().readTree(file.toFile())) {
      final JsonNode primary = result.path("primaryMetric");
      scores.put(
          name(result),
          new Score(
              run,
              number(primary.path("score")),
              number(primary.path("scoreError")),
              median(result.path("secondaryMetrics").path(ALLOCATED).path("rawData"))));
    }
    return scores;
  }

  /** Returns class and method, with the parameters that are not 0. */
  private static String name(JsonNode result) {
    final String[] path = result.path("benchmark").asString().split("\\.");
    final StringBuilder name = new StringBuilder(path[path.length - 2]).append('.');
    name.append(path[path.length - 1]);
    result
        .path("params")
        .forEachEntry(
            (parameter, value) -> {
              if (!value.asString().equals("0")) {
                name.append(' ').append(parameter).append('=').append(value.asString());
              }
            });
    return name.toString();
  }

  /** JMH writes numbers that are none as text. */
  private static double number(JsonNode value) {
    return value.isNumber() ? value.asDouble() : Double.NaN;
  }

  /** Returns the middle one of the values of all iterations of all forks. */
  private static double median(JsonNode forks) {
    final double[] values =
        StreamSupport.stream(forks.spliterator(), false)
            .flatMap(iterations -> StreamSupport.stream(iterations.spliterator(), false))
            .mapToDouble(JmhRecords::number)
            .sorted()
            .toArray();
    return values.length == 0 ? Double.NaN : values[values.length / 2];
  }

  /** Returns the latest score of each benchmark in the runs before one. */
  private Map<String, Score> before(Path file) {
    final Map<String, Score> latest = new HashMap<>();
    try (Stream<Path> files = Files.list(folder)) {
      files
          .filter(other -> other.getFileName().toString().startsWith(PREFIX))
          .filter(other -> time(other).compareTo(time(file)) < 0)
          .sorted()
          .forEach(other -> latest.putAll(read(other)));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return latest;
  }

  private static String time(Path file) {
    return file.getFileName().toString().replaceAll("^[a-z]+-", "");
  }

  /** Returns the scores of a run, each beside the latest one of the runs before. */
  Report compare(Path file) {
    final Map<String, Score> before = before(file);
    final Report report =
        new Report(
            "JMH (time and bytes of an operation)",
            "benchmark",
            "time",
            "error",
            "bytes",
            "previous time",
            "ratio",
            "previous bytes",
            "previous run",
            "beyond the errors");
    read(file).forEach((name, now) -> row(report, name, now, before.getOrDefault(name, now)));
    return report;
  }

  /** The score itself stands for one that is missing. */
  private static void row(Report report, String name, Score now, Score then) {
    final List<String> previous =
        now == then
            ? List.of("–", "–", "–", "–", "–")
            : List.of(
                time(then.time),
                String.format(Locale.ROOT, "%.2fx", now.time / then.time),
                bytes(then.bytes),
                then.run,
                change(now, then));
    report.row(
        Stream.concat(
                Stream.of(
                    name,
                    time(now.time),
                    Double.isNaN(now.error)
                        ? "–"
                        : String.format(Locale.ROOT, "%.0f %%", 100 * now.error / now.time),
                    bytes(now.bytes)),
                previous.stream())
            .toArray(String[]::new));
  }

  private static String change(Score now, Score then) {
    final double difference = now.time - then.time;
    return Math.abs(difference) > now.error + then.error
        ? difference > 0 ? "slower" : "faster"
        : "–";
  }

  private static String bytes(double bytes) {
    return Double.isNaN(bytes) ? "–" : String.format(Locale.ROOT, "%.0f", bytes);
  }

  /** Three digits at least, in a unit that fits. */
  private static String time(double ns) {
    if (ns < 1e4) {
      return String.format(Locale.ROOT, ns < 100 ? "%.2f ns" : "%.0f ns", ns);
    }
    return ns < 1e7
        ? String.format(Locale.ROOT, "%.1f us", ns / 1e3)
        : String.format(Locale.ROOT, "%.1f ms", ns / 1e6);
  }
}
