package agent.datapath.manager;

import agent.bindings.Errno;
import agent.conntrack.ConntrackCounters;
import agent.conntrack.ConntrackGc;
import agent.datapath.manager.spec.DatapathStatus;
import agent.maps.layout.ConntrackTable;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Sums what the garbage collector counts table by table. */
record ConntrackReport(ConntrackGc gc, List<ConntrackTable> tables) {
  DatapathStatus.Conntrack status() {
    final ConntrackCounters counters = gc.counters();
    long runs = Long.MAX_VALUE;
    long entries = 0;
    long visited = 0;
    long deleted = 0;
    long lastNs = 0;
    for (final ConntrackTable table : tables) {
      runs = Math.min(runs, counters.sweeps(table));
      entries += counters.entries(table);
      visited += counters.visited(table);
      deleted += counters.deleted(table);
      lastNs += counters.lastDurationNs(table);
    }
    return new DatapathStatus.Conntrack(
        (int) TimeUnit.NANOSECONDS.toSeconds(gc.intervalNs()),
        runs,
        entries,
        visited,
        deleted,
        lastNs);
  }

  /** Says where the kernel refused the last sweep of a table. */
  void report(HealthBoard health) {
    for (final ConntrackTable table : tables) {
      final int errno = gc.counters().lastErrno(table);
      if (errno != 0) {
        health.degraded(ConntrackGc.ROLE_NAME, "sweep of " + table + ": " + Errno.name(errno));
        return;
      }
    }
  }
}
