package agent.datapath.manager.mutation;

import agent.datapath.manager.mutation.MutationWorker.Verdict;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** A {@link MutationWorker}. Starts another process after one that does not answer. */
final class MutationProcess implements AutoCloseable {
  /**
   * The answer of the tests.
   *
   * @param message the failure
   */
  record Answer(Verdict verdict, String message) {}

  private static final long ANSWER_SEC = 240;

  private final Path folder;
  private final List<String> properties;
  private final BlockingQueue<String> answers = new LinkedBlockingQueue<>();
  private Process process;

  /**
   * Prepares the process; the folder receives its sources and the output of the tests.
   *
   * @param properties {@code -D} arguments besides those of this process
   */
  MutationProcess(Path folder, List<String> properties) throws IOException {
    this.folder = Files.createDirectories(folder);
    this.properties = properties;
  }

  /** Runs a test on the shipped objects. */
  Answer run(String test) throws IOException, InterruptedException {
    return ask(test);
  }

  /**
   * Plants a bug and runs its test.
   *
   * @return FAILED, too, where the test does not end
   */
  Answer run(Mutation mutation) throws IOException, InterruptedException {
    return ask(
        String.join(MutationWorker.SEPARATOR, mutation.test(), mutation.file(), mutation.sed()));
  }

  private Answer ask(String line) throws IOException, InterruptedException {
    if (process == null || !process.isAlive()) {
      start();
    }
    process.getOutputStream().write((line + "\n").getBytes(StandardCharsets.UTF_8));
    process.getOutputStream().flush();
    final String answer = answers.poll(ANSWER_SEC, TimeUnit.SECONDS);
    if (answer == null) {
      close();
      return new Answer(Verdict.FAILED, "no answer within " + ANSWER_SEC + " s");
    }
    final String[] parts = answer.split(" ", 2);
    return new Answer(Verdict.valueOf(parts[0]), parts.length == 1 ? "" : parts[1]);
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
            System.getProperty("java.class.path"),
            MutationWorker.class.getName(),
            folder.resolve("sources").toString()));
    answers.clear();
    process =
        new ProcessBuilder(line)
            .redirectError(ProcessBuilder.Redirect.appendTo(folder.resolve("tests.log").toFile()))
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
