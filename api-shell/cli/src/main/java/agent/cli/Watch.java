package agent.cli;

import agent.cli.call.Action;
import agent.cli.call.CommonOptions;
import agent.cli.call.DurationText;
import agent.cli.call.Invocation;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/**
 * Repeats a command: on a terminal in place of what stands there, elsewhere only what has changed.
 */
final class Watch {
  private static final Duration INTERVAL = Duration.ofSeconds(2);
  private static final String HOME_AND_CLEAR = "\u001b[H\u001b[2J";

  private Watch() {}

  /** Runs until the thread is interrupted, the output cannot be written, or a call fails. */
  static void run(Invocation first, Action action) throws Exception {
    final Duration interval =
        DurationText.of(CommonOptions.INTERVAL, first.option(CommonOptions.INTERVAL), INTERVAL);
    String shown = null;
    while (!first.out().checkError()) {
      final String seen = output(first, action);
      if (!seen.equals(shown)) {
        if (first.terminal().isInteractive()) {
          first.out().print(HOME_AND_CLEAR);
        } else if (shown != null) {
          first.out().println();
        }
        first.out().print(seen);
        first.out().flush();
        shown = seen;
      }
      try {
        Thread.sleep(interval);
      } catch (InterruptedException ended) {
        return;
      }
    }
  }

  private static String output(Invocation first, Action action) throws Exception {
    final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (PrintStream out = new PrintStream(bytes, false, StandardCharsets.UTF_8);
        Invocation call = first.writingTo(out)) {
      action.run(call);
    }
    return bytes.toString(StandardCharsets.UTF_8);
  }
}
