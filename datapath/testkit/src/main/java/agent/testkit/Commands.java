package agent.testkit;

import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Runs a program with an argument list, without a shell, and waits for a bounded time. */
public final class Commands {
  private static final long TIMEOUT_SEC = 60;

  private Commands() {}

  /** Runs a command that must succeed and returns its output (both streams). */
  public static String run(String... command) {
    return runWith("", command);
  }

  /** Does the same as {@link #run}, with the text as the command's input. */
  public static String runWith(String input, String... command) {
    final Outcome outcome = attemptWith(input, command);
    if (outcome.status() != 0) {
      throw new IllegalStateException(
          String.join(" ", command) + ": status " + outcome.status() + ": " + outcome.output());
    }
    return outcome.output();
  }

  /** Runs a command that may fail and returns its status and output. */
  public static Outcome attempt(String... command) {
    return attemptWith("", command);
  }

  private static Outcome attemptWith(String input, String... command) {
    try {
      final Process process =
          new ProcessBuilder(List.of(command)).redirectErrorStream(true).start();
      try (OutputStream toCommand = process.getOutputStream()) {
        toCommand.write(input.getBytes(StandardCharsets.UTF_8));
      }
      final String output =
          new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      if (!process.waitFor(TIMEOUT_SEC, TimeUnit.SECONDS)) {
        process.destroyForcibly();
        throw new IllegalStateException(String.join(" ", command) + ": still runs");
      }
      return new Outcome(process.exitValue(), output);
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    } catch (InterruptedException failure) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(failure);
    }
  }

  /** The result of a command. */
  public record Outcome(int status, String output) {}
}
