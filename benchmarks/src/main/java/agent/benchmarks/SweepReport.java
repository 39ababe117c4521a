package agent.benchmarks;

import agent.bindings.Errno;
import agent.conntrack.FilledConntrack;
import agent.maps.layout.ConntrackSweepFlyweight;
import agent.maps.layout.ConntrackTable;
import agent.testkit.HeapAllocation;
import java.io.IOException;
import java.util.Arrays;

/** Measures the conntrack sweep inside the kernel over a million flows. */
final class SweepReport {
  private static final int FLOWS = 1_000_000;
  private static final int RUNS = 7;
  private static final double GOAL = 1.2;

  private final ConntrackSweepFlyweight result = new ConntrackSweepFlyweight();
  private final FilledConntrack conntrack;

  private SweepReport(FilledConntrack conntrack) {
    this.conntrack = conntrack;
  }

  static Report run() throws IOException {
    final Report report =
        new Report(
            "Conntrack sweep of 1,000,000 flows inside the kernel",
            "work",
            "measured",
            "same walk in a syscall program (quoted)",
            "goal",
            "bytes allocated",
            "remarks");
    try (FilledConntrack conntrack = new FilledConntrack(FLOWS)) {
      final SweepReport sweep = new SweepReport(conntrack);
      sweep.row(report, "half of them expired", 198, true);
      sweep.row(report, "none of them expired", 107, false);
    }
    return report;
  }

  private void row(Report report, String work, double quotedMs, boolean half) {
    final long[] times = new long[RUNS];
    long allocated = 0;
    for (int i = 0; i < RUNS; i++) {
      conntrack.fill(half);
      final long before = HeapAllocation.bytes();
      final long start = System.nanoTime();
      final int error = conntrack.sweeper().sweep(ConntrackTable.TCP4.number(), false, result);
      times[i] = System.nanoTime() - start;
      allocated = HeapAllocation.bytes() - before;
      if (error != 0) {
        throw new IllegalStateException("sweep: " + Errno.name(error));
      }
    }
    Arrays.sort(times);
    report.row(
        work,
        Report.figure(times[RUNS / 2] / 1e6) + " ms",
        Report.figure(quotedMs) + " ms",
        times[RUNS / 2] / 1e6 <= GOAL * quotedMs ? "met (1.2x)" : "missed (1.2x)",
        Long.toString(allocated),
        "%,d visited, %,d deleted; the sweep runs in the kernel without interruption"
            .formatted(result.visited(), result.deleted()));
  }
}
