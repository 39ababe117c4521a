package agent.cli.event;

import agent.cli.output.Terminal;
import java.io.PrintStream;

/**
 * How many events a second there are, in the last line of a terminal; nothing elsewhere. It stands
 * on standard error, so that what is redirected has events alone.
 */
public final class RateLine {
  private static final long INTERVAL_NS = 1_000_000_000;
  private static final String ERASE = "\r\u001b[K";

  private final PrintStream out;
  private final PrintStream err;
  private final boolean isShown;
  private long sinceNs = System.nanoTime();
  private long events;
  private boolean isOnScreen;

  /**
   * Creates a line that is not shown yet.
   *
   * @param out has the events, which are on the terminal before the line is
   */
  public RateLine(Terminal terminal, PrintStream out, PrintStream err) {
    this.out = out;
    this.err = err;
    isShown = terminal.isInteractive() && terminal.showsProgress();
  }

  public void count() {
    events++;
  }

  /** Removes the line, before another one is printed in its place. */
  public void erase() {
    if (isOnScreen) {
      err.print(ERASE);
      err.flush();
      isOnScreen = false;
    }
  }

  /** Shows the rate of the last second, once a second. */
  public void show() {
    final long elapsedNs = System.nanoTime() - sinceNs;
    if (isShown && elapsedNs >= INTERVAL_NS) {
      erase();
      out.flush();
      err.print(Math.round(events * 1e9 / elapsedNs) + " events a second");
      err.flush();
      isOnScreen = true;
      events = 0;
      sinceNs += elapsedNs;
    }
  }
}
