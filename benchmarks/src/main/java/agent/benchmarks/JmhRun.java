package agent.benchmarks;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.List;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.format.ResultFormatType;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.CommandLineOptionException;
import org.openjdk.jmh.runner.options.CommandLineOptions;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.ProfilerConfig;
import org.openjdk.jmh.runner.options.TimeValue;

/** Runs the JMH benchmarks with the flags of the agent's JVM, and compares with the run before. */
final class JmhRun {
  private static final Path AGENT_FLAGS = Path.of("api-shell/launcher/src/main/scripts/agent.jvm");
  private static final String PROFILER = "-prof";
  private static final String JFR = "jfr";
  private static final String GC = "gc";

  private JmhRun() {}

  /**
   * Runs benchmarks; what the arguments do not say is short.
   *
   * @param arguments those of JMH: options and expressions for the names; without one all run
   */
  static Report run(List<String> arguments)
      throws CommandLineOptionException, RunnerException, IOException {
    final JmhRecords records = JmhRecords.ofUser(System.getenv());
    final CommandLineOptions asked = new CommandLineOptions(arguments.toArray(String[]::new));
    final List<String> profilers =
        asked.getProfilers().stream().map(ProfilerConfig::getKlass).toList();
    final Path file =
        records.next(LocalDateTime.now(), profilers.stream().anyMatch(name -> !name.equals(GC)));
    final OptionsBuilder options = new OptionsBuilder();
    options.parent(new CommandLineOptions(withFolder(arguments, file).toArray(String[]::new)));
    if (!profilers.contains(GC)) {
      options.addProfiler(GCProfiler.class);
    }
    addDefaults(options, asked);
    options.resultFormat(ResultFormatType.JSON).result(file.toString());
    new Runner(options.build()).run();
    System.out.printf("%nRecorded in %s%n%n", file);
    return records.compare(file);
  }

  private static void addDefaults(OptionsBuilder options, CommandLineOptions asked) {
    if (!asked.getForkCount().hasValue()) {
      options.forks(1);
    }
    if (!asked.getWarmupIterations().hasValue()) {
      options.warmupIterations(2);
    }
    if (!asked.getWarmupTime().hasValue()) {
      options.warmupTime(TimeValue.milliseconds(500));
    }
    if (!asked.getMeasurementIterations().hasValue()) {
      options.measurementIterations(5);
    }
    if (!asked.getMeasurementTime().hasValue()) {
      options.measurementTime(TimeValue.milliseconds(300));
    }
    if (!asked.shouldFailOnError().hasValue()) {
      options.shouldFailOnError(true);
    }
    if (!asked.getJvmArgs().hasValue()) {
      options.jvmArgs(flags().toArray(String[]::new));
    }
  }

  /** The agent's flags take precedence over those that only these benchmarks need. */
  private static List<String> flags() {
    final List<String> flags =
        new ArrayList<>(ManagementFactory.getRuntimeMXBean().getInputArguments());
    flags.add("@" + AGENT_FLAGS.toAbsolutePath());
    return flags;
  }

  /** Directs recordings of the JVM to a folder beside the results, unless another one is given. */
  private static List<String> withFolder(List<String> arguments, Path file) {
    final List<String> all = new ArrayList<>(arguments);
    for (int i = 1; i < all.size(); i++) {
      if (all.get(i - 1).equals(PROFILER) && all.get(i).equals(JFR)) {
        all.set(i, JFR + ":dir=" + file.toString().replaceAll("\\.json$", ""));
      }
    }
    return all;
  }
}
