package agent.datapath.manager.mutation;

import agent.datapath.manager.mutation.MutationWorker.Verdict;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * A {@link MutationWorker} whose class path begins with a folder of objects, which hide those of
 * the jar. Starts another process after one that does not answer.
 */
final class MutationProcess implements AutoCloseable {
  /**
   * The answer of the tests.
   *
   * @param message the failure
   */
  record Answer(Verdict verdict, String message) {}

  private static final long ANSWER_SEC = 240;

  private final Path hiding;
  private final Path log;
  private final List<String> properties;
  private final BlockingQueue<String> answers = new LinkedBlockingQueue<>();
  private Process process;

  /**
   * Prepares the process; the folder receives the objects and the output of the tests.
   *
   * @param properties {@code -D} arguments besides those of this process
   */
  MutationProcess(Path folder, List<String> properties) throws IOException {
    this.properties = properties;
    hiding = folder.resolve("hiding");
    log = folder.resolve("tests.log");
    Files.createDirectories(hiding.resolve("bpf"));
  }

  /**
   * Runs a test with changed objects.
   *
   * @param objects folder of the objects that replace the shipped ones; null for none
   * @return FAILED, too, where the test does not end
   */
  Answer run(String test, Path objects) throws IOException, InterruptedException {
    replace(objects);
    if (process == null || !process.isAlive()) {
      start();
    }
    process.getOutputStream().write((test + "\n").getBytes(StandardCharsets.UTF_8));
    process.getOutputStream().flush();
    final String line = answers.poll(ANSWER_SEC, TimeUnit.SECONDS);
    if (line == null) {
      close();
      return new Answer(Verdict.FAILED, "no answer within " + ANSWER_SEC + " s");
    }
    final String[] parts = line.split(" ", 2);
    return new Answer(Verdict.valueOf(parts[0]), parts.length == 1 ? "" : parts[1]);
  }

  private void replace(Path objects) throws IOException {
    final Path folder = hiding.resolve("bpf");
    try (Stream<Path> old = Files.list(folder)) {
      for (final Path object : old.toList()) {
        Files.delete(object);
      }
    }
    if (objects != null) {
      try (Stream<Path> changed = Files.list(objects)) {
        for (final Path object : changed.toList()) {
          final Path target = folder.resolve(object.getFileName());
          Files.copy(object, target, StandardCopyOption.REPLACE_EXISTING);
        }
      }
    }
  }

  private void start() throws IOException {
    final List<String> line = new ArrayList<>();
    line.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
        .filter(argument -> !argument.startsWith("-javaagent"))
        .forEach(line::add);
    line.addAll(properties);
    line.addAll(
        List.of(
            "-cp",
            hiding + File.pathSeparator + System.getProperty("java.class.path"),
            MutationWorker.class.getName()));
    answers.clear();
    process =
        new ProcessBuilder(line)
            .redirectError(ProcessBuilder.Redirect.appendTo(log.toFile()))
            .start();
    final BufferedReader output =
        new BufferedReader(new InputStreamReader(process.getInputStream()));
    Thread.ofPlatform().name("mutation-answers").daemon().start(() -> read(output));
  }

  private void read(BufferedReader output) {
    try {
      for (String line = output.readLine(); line != null; line = output.readLine()) {
        answers.add(line);
      }
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }

  @Override
  public void close() throws IOException {
    if (process != null) {
      process.destroyForcibly();
      process.getOutputStream().close();
    }
  }
}
