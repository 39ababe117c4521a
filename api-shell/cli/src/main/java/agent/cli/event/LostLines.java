package agent.cli.event;

import agent.client.MonitorEvent.Lost;
import java.io.PrintStream;

/** Reports on standard error how many events were lost since the last time. */
final class LostLines {
  private final PrintStream err;
  private Lost before = new Lost(0, 0);

  LostLines(PrintStream err) {
    this.err = err;
  }

  void tell(Lost now) {
    if (now.byRing() > before.byRing()) {
      err.println(
          now.byRing()
              - before.byRing()
              + " events lost: the datapath emits more than can be read");
    }
    if (now.byQueue() > before.byQueue()) {
      err.println(now.byQueue() - before.byQueue() + " events lost: this program reads too slowly");
    }
    before = now;
  }
}
