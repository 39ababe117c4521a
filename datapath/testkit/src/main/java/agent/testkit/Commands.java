package agent.testkit;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Runs a program with an argument list (no shell) and waits for it, bounded. */
public final class Commands {
  private static final long TIMEOUT_SEC = 60;

  private Commands() {}

  /** Output (both streams) of a command that has to succeed. */
  public static String run(String... command) {
    final Outcome outcome = attempt(command);
    if (outcome.status() != 0) {
      throw new IllegalStateException(
          String.join(" ", command) + ": status " + outcome.status() + ": " + outcome.output());
    }
    return outcome.output();
  }

  /** Status and output of a command that may fail. */
  public static Outcome attempt(String... command) {
    try {
      final Process process =
          new ProcessBuilder(List.of(command)).redirectErrorStream(true).start();
      process.getOutputStream().close();
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

  /** What a command ended with. */
  public record Outcome(int status, String output) {}
}
