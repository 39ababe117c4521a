package agent.node;

import agent.types.Refusal;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** {@code ip} as a child process, bounded in time. */
public final class IpProcess implements IpRunner {
  private static final Pattern FAILED_LINE = Pattern.compile("Command failed -:(\\d+)");
  private static final List<String> PLACES =
      List.of("/usr/sbin/ip", "/sbin/ip", "/usr/bin/ip", "/bin/ip");
  private static final Duration TIMEOUT = Duration.ofSeconds(10);

  private static final int DUMP_TRIES = 5;

  private final String program;
  private final Duration timeout;

  private IpProcess(String program, Duration timeout) {
    this.program = program;
    this.timeout = timeout;
  }

  /**
   * Finds {@code ip} where distributions put it.
   *
   * @return the runner
   * @throws Refusal FAILED where iproute2 is not installed
   */
  public static IpProcess find() {
    for (final String place : PLACES) {
      if (Files.isExecutable(Path.of(place))) {
        return new IpProcess(place, TIMEOUT);
      }
    }
    throw Refusal.failed("", "ip is not installed (package iproute2): looked at " + PLACES);
  }

  /**
   * A runner of another program with the same command line.
   *
   * @param program the path
   * @param timeout how long one run may take
   * @return the runner
   */
  public static IpProcess of(String program, Duration timeout) {
    return new IpProcess(program, timeout);
  }

  @Override
  public List<Failure> batch(List<String> commands) {
    if (commands.isEmpty()) {
      return List.of();
    }
    final String input = String.join("\n", commands) + "\n";
    final Outcome outcome = run(List.of("-force", "-batch", "-"), input);
    final List<Failure> failures = failures(commands, outcome.errors);
    if (outcome.status != 0 && !namesFailureLast(outcome.errors)) {
      // Some commands of ip leave the whole process when they fail (neigh does): what came after
      // the failure was not run.
      final String said = outcome.errors.strip().replace('\n', ' ');
      throw Refusal.failed(
          "", "ip stopped with status " + outcome.status + " among " + commands + ": " + said);
    }
    return failures;
  }

  /** A batch that ran to its end has told the line of its last failure as the last thing. */
  private static boolean namesFailureLast(String output) {
    final String text = output.stripTrailing();
    return FAILED_LINE.matcher(text.substring(text.lastIndexOf('\n') + 1)).matches();
  }

  @Override
  public List<String> show(List<String> arguments) {
    Outcome outcome = run(arguments, "");
    // The kernel's list changed while it was read: some of it may be missing (NLM_F_DUMP_INTR).
    for (int i = 1; i < DUMP_TRIES && outcome.errors.contains("Dump was interrupted"); i++) {
      outcome = run(arguments, "");
    }
    if (outcome.status != 0) {
      throw Refusal.failed(
          "", new Failure(String.join(" ", arguments), outcome.errors.strip()).toString());
    }
    return outcome.output.lines().filter(line -> !line.isBlank()).toList();
  }

  private static List<Failure> failures(List<String> commands, String output) {
    final List<Failure> failures = new ArrayList<>();
    final List<String> said = new ArrayList<>();
    for (final String line : output.lines().toList()) {
      final Matcher failed = FAILED_LINE.matcher(line);
      if (failed.matches()) {
        final int number = Integer.parseInt(failed.group(1));
        failures.add(new Failure(commands.get(number - 1), String.join(" ", said)));
        said.clear();
      } else if (!line.isBlank()) {
        said.add(line.strip());
      }
    }
    return failures;
  }

  private record Outcome(int status, String output, String errors) {}

  private Outcome run(List<String> arguments, String input) {
    final List<String> line = new ArrayList<>(arguments.size() + 1);
    line.add(program);
    line.addAll(arguments);
    Process process = null;
    try {
      process = new ProcessBuilder(line).start();
      final Process child = process;
      final CompletableFuture<String> output = drain(child.getInputStream());
      final CompletableFuture<String> errors = drain(child.getErrorStream());
      try (OutputStream stdin = child.getOutputStream()) {
        stdin.write(input.getBytes(StandardCharsets.UTF_8));
      }
      if (!child.waitFor(timeout.toMillis(), TimeUnit.MILLISECONDS)) {
        throw Refusal.failed("", "ip gave no answer within " + timeout.toMillis() + " ms");
      }
      return new Outcome(
          child.exitValue(),
          output.get(timeout.toMillis(), TimeUnit.MILLISECONDS),
          errors.get(timeout.toMillis(), TimeUnit.MILLISECONDS));
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw Refusal.of(Refusal.Kind.FAILED, "", "interrupted while ip ran", interrupted);
    } catch (IOException | ExecutionException | TimeoutException failure) {
      throw Refusal.of(
          Refusal.Kind.FAILED, "", program + " cannot be run: " + failure.getMessage(), failure);
    } finally {
      if (process != null && process.isAlive()) {
        process.destroyForcibly();
      }
    }
  }

  /** Reads a pipe to its end beside the process, which would stand still on a full one. */
  private static CompletableFuture<String> drain(InputStream pipe) {
    final CompletableFuture<String> text = new CompletableFuture<>();
    Thread.ofVirtual()
        .start(
            () -> {
              try {
                text.complete(new String(pipe.readAllBytes(), StandardCharsets.UTF_8));
              } catch (IOException failure) {
                text.completeExceptionally(failure);
              }
            });
    return text;
  }
}
