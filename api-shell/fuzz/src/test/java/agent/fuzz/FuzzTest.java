package agent.fuzz;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.code_intelligence.jazzer.Jazzer;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Runs each target under Jazzer, in a JVM of its own with little memory: an exception, an error, an
 * input that takes seconds, and memory that grows fail. A target gets the number of inputs that it
 * names, or as many as it reads in {@code fuzz.seconds}; {@code fuzz.target} says which one, and
 * {@code fuzz.seed} repeats the choices of a run.
 */
@Timeout(value = 7, unit = TimeUnit.DAYS)
class FuzzTest {
  private static final int SECONDS = Integer.getInteger("fuzz.seconds", 0);
  private static final String ONLY = System.getProperty("fuzz.target", "");
  private static final int SEED = Integer.getInteger("fuzz.seed", 20261122);
  private static final int STARTING_SECONDS = 120;

  /** For the inputs of a target on a busy machine, where a quiet one takes 20 seconds. */
  private static final int LONGEST_SECONDS = 600;

  private static final Pattern RUNS = Pattern.compile("stat::number_of_executed_units: +(\\d+)");

  private static Set<Path> before;

  /** Returns the temporary folders that targets made outside those of the tests. */
  private static Set<Path> folders() throws IOException {
    final Path temporary = Path.of(System.getProperty("java.io.tmpdir"));
    try (DirectoryStream<Path> folders = Files.newDirectoryStream(temporary, "fuzz*")) {
      return StreamSupport.stream(folders.spliterator(), false).collect(Collectors.toSet());
    }
  }

  @BeforeAll
  static void noteFolders() throws IOException {
    before = folders();
  }

  @AfterAll
  static void leaveNoFolder() throws IOException {
    final Set<Path> left = folders();
    left.removeAll(before);
    assertEquals(Set.of(), left);
  }

  @ParameterizedTest
  @Execution(ExecutionMode.CONCURRENT)
  @EnumSource(FuzzTarget.class)
  void shouldRefuseOrKeepTheMeaning(FuzzTarget target, @TempDir Path directory) throws Exception {
    if (!ONLY.isEmpty() && !ONLY.equals(target.name())) {
      return;
    }
    final Path output = directory.resolve("output");
    final long beginNs = System.nanoTime();
    final Process jazzer =
        new ProcessBuilder(command(target, corpus(target, directory), directory))
            .directory(directory.toFile())
            .redirectErrorStream(true)
            .redirectOutput(output.toFile())
            .start();
    try {
      assertTrue(
          jazzer.waitFor(
              (SECONDS == 0 ? LONGEST_SECONDS : SECONDS) + STARTING_SECONDS, TimeUnit.SECONDS),
          () -> "Jazzer does not end: " + tail(output));
    } finally {
      jazzer.destroyForcibly();
    }
    final String said = tail(output);
    assertEquals(0, jazzer.exitValue(), () -> target + ": " + said);
    final Matcher runs = RUNS.matcher(said);
    assertTrue(runs.find(), said);
    final long inputs = Long.parseLong(runs.group(1));
    assertTrue(inputs > target.seeds().size(), said);
    assertTrue(SECONDS != 0 || inputs >= target.inputs(), said);
    final long seconds = TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - beginNs);
    System.out.println(target + ": " + inputs + " inputs in " + seconds + " s with the start");
  }

  private static Path corpus(FuzzTarget target, Path directory) throws IOException {
    final Path corpus = Files.createDirectory(directory.resolve("corpus"));
    for (int i = 0; i < target.seeds().size(); i++) {
      Files.write(corpus.resolve("seed-" + i), target.seeds().get(i));
    }
    return corpus;
  }

  private static List<String> command(FuzzTarget target, Path corpus, Path directory) {
    final List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    if (SECONDS == 0) {
      command.add("-XX:TieredStopAtLevel=1"); // the optimizing compiler takes longer than it gains
    }
    command.addAll(
        List.of(
            "-Xmx320m",
            "-XX:+UseSerialGC",
            "-XX:-OmitStackTraceInFastThrow",
            "-XX:+EnableDynamicAgentLoading",
            "--enable-native-access=ALL-UNNAMED",
            "--sun-misc-unsafe-memory-access=allow",
            "--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED",
            "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
            "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED",
            "--add-opens=java.base/java.lang=ALL-UNNAMED",
            "--add-opens=java.base/java.lang.reflect=ALL-UNNAMED",
            "-Dlog4j2.level=OFF",
            "-Djava.io.tmpdir=" + directory, // what a target leaves goes with it
            "-cp",
            System.getProperty("java.class.path"),
            Jazzer.class.getName(),
            "--target_class=" + target.type().getName(),
            "--instrumentation_includes=agent.**",
            "--custom_hook_includes=agent.**",
            "--reproducer_path=" + directory,
            "-artifact_prefix=" + directory + "/",
            SECONDS == 0 ? "-runs=" + target.inputs() : "-max_total_time=" + SECONDS,
            "-seed=" + SEED,
            "-timeout=10",
            "-rss_limit_mb=2048",
            "-max_len=4096",
            "-print_final_stats=1",
            corpus.toString()));
    return command;
  }

  /** Returns the end of what Jazzer wrote: the finding with its input, and the counts. */
  private static String tail(Path output) {
    try {
      final List<String> lines =
          Files.readAllLines(output).stream()
              .filter(line -> !line.startsWith("INFO: Instrumented "))
              .toList();
      return String.join("\n", lines.subList(Math.max(0, lines.size() - 120), lines.size()));
    } catch (IOException e) {
      return e.toString();
    }
  }
}
