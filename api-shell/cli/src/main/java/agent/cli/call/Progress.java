package agent.cli.call;

import java.io.PrintStream;
import java.util.concurrent.TimeUnit;

/** Shows on a terminal that a call takes longer than a second, and for how long. */
public final class Progress implements AutoCloseable {
  private static final long FIRST_MS = 1000;
  private static final String CLEAR_LINE = "\r\u001b[K";

  private final PrintStream err;
  private final String what;
  private final long startNs = System.nanoTime();
  private final Thread thread;
  private boolean isShown; // guarded by this
  private boolean isDone; // guarded by this

  private Progress(PrintStream err, String what, boolean isWanted) {
    this.err = err;
    this.what = what;
    thread = isWanted ? Thread.ofPlatform().daemon().name("progress").start(this::show) : null;
  }

  /** Begins to wait for a call; nothing is shown in its first second. */
  public static Progress of(PrintStream err, String what, boolean isWanted) {
    return new Progress(err, what, isWanted);
  }

  private void show() {
    try {
      while (true) {
        Thread.sleep(FIRST_MS);
        synchronized (this) {
          if (isDone) {
            return;
          }
          final long seconds = TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - startNs);
          err.print(CLEAR_LINE + what + ": " + seconds + " s");
          err.flush();
          isShown = true;
        }
      }
    } catch (InterruptedException ended) {
      return;
    }
  }

  @Override
  public void close() {
    if (thread == null) {
      return;
    }
    synchronized (this) {
      isDone = true;
      if (isShown) {
        err.print(CLEAR_LINE);
        err.flush();
      }
    }
    thread.interrupt();
  }
}
