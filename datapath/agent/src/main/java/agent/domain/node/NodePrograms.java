package agent.domain.node;

import agent.node.netfilter.NodeCommand;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** Runs programs of the node as processes, each for ten seconds at most. */
public final class NodePrograms implements NodeCommand {
  private static final long LONGEST_SEC = 10;

  @Override
  public Result run(List<String> command, String input) {
    final Process process;
    try {
      process = new ProcessBuilder(command).redirectErrorStream(true).start();
    } catch (IOException failure) {
      return new Result(NOT_STARTED, String.valueOf(failure.getMessage()));
    }
    final CompletableFuture<Process> end =
        process.onExit().orTimeout(LONGEST_SEC, TimeUnit.SECONDS);
    end.exceptionally(late -> process.destroyForcibly());
    try {
      final String output = exchange(process, input);
      return end.isCompletedExceptionally()
          ? new Result(process.waitFor(), "not finished after " + LONGEST_SEC + " s")
          : new Result(process.waitFor(), output);
    } catch (IOException failure) {
      process.destroyForcibly();
      return new Result(NOT_STARTED, String.valueOf(failure.getMessage()));
    } catch (InterruptedException interrupted) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
      return new Result(NOT_STARTED, "interrupted");
    }
  }

  private static String exchange(Process process, String input) throws IOException {
    try (OutputStream stream = process.getOutputStream()) {
      stream.write(input.getBytes(StandardCharsets.UTF_8));
    } catch (IOException closed) {
      // the program has ended without reading; its output says why
    }
    return new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
  }
}
