package agent.benchmarks;

import agent.testkit.GracePeriod;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * What an endpoint costs the installed daemon as there are more of them: the time of its creation
 * beside a grace period of the kernel, the restart beside one without endpoints, and memory.
 */
final class ScaleReport {
  private static final int SOME = 100;
  private static final int MANY = 1000;
  private static final int IDENTITIES = 20;
  private static final int SAMPLE = 20;
  private static final int RESTARTS = 3;
  private static final int CREATE_GOAL_MS = 25;
  private static final double RESTART_GOAL = 1.5;

  private final Report report =
      new Report(
          "Endpoints of " + IDENTITIES + " identities, as there are more of them",
          "work",
          "measured",
          "reference in the same run",
          "goal");
  private final RunningDaemon daemon;
  private int endpoints;

  private ScaleReport(RunningDaemon daemon) {
    this.daemon = daemon;
  }

  /** Measures the daemon under an installation prefix. */
  static Report run(Path prefix) throws Exception {
    try (RunningDaemon daemon = new RunningDaemon(prefix.resolve("bin/agent"))) {
      final ScaleReport scale = new ScaleReport(daemon);
      daemon.untilReady(0);
      scale.rows();
      return scale.report;
    }
  }

  private void rows() throws Exception {
    final long empty = restart(0);
    create("new endpoint to enforced, the first " + SAMPLE);
    add(SOME - SAMPLE - endpoints);
    create("new endpoint to enforced, the " + (SOME - SAMPLE + 1) + "th to the " + SOME + "th");
    final long some = restart(SOME);
    final double ratio = (double) some / empty;
    report.row(
        "restart to " + SOME + " endpoints ready",
        millis(some),
        millis(empty) + " (to none), " + Report.ratio(some, empty),
        RESTART_GOAL + "x, " + (ratio <= RESTART_GOAL ? "met" : "missed"));
    memory();
    add(MANY - SAMPLE - endpoints);
    create("new endpoint to enforced, the " + (MANY - SAMPLE + 1) + "th to the " + MANY + "th");
    final long many = restart(MANY);
    report.row(
        "restart to " + MANY + " endpoints ready",
        millis(many),
        millis(empty) + " (to none), " + Report.ratio(many, empty),
        "–");
    memory();
  }

  /** Creates some endpoints and reports the median, with that of grace periods measured between. */
  private void create(String work) throws Exception {
    final long[] times = new long[SAMPLE];
    final long[] grace = new long[SAMPLE];
    for (int i = 0; i < SAMPLE; i++) {
      grace[i] = GracePeriod.elapsedNs() / 1000;
      times[i] = daemon.create(List.of(plumb()))[0];
    }
    final long median = median(times);
    report.row(
        work,
        millis(median),
        millis(median(grace)) + " (a grace period)",
        CREATE_GOAL_MS + " ms, " + (median <= CREATE_GOAL_MS * 1000 ? "met" : "missed"));
  }

  private void add(int count) throws IOException {
    final List<String> requests = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      requests.add(plumb());
    }
    daemon.create(requests);
  }

  private String plumb() {
    final int index = endpoints++;
    return daemon.plumb(index, "scale" + index % IDENTITIES);
  }

  /** Returns the median time from the start to all endpoints ready. */
  private long restart(int expected) throws Exception {
    final long[] times = new long[RESTARTS];
    for (int i = 0; i < RESTARTS; i++) {
      daemon.restart();
      times[i] = daemon.untilReady(expected);
    }
    return median(times);
  }

  private void memory() throws IOException {
    report.row(
        "memory with " + endpoints + " endpoints",
        daemon.residentKb() / 1024 + " MB resident",
        daemon.mapKb() / 1024
            + " MB of maps in the kernel, "
            + daemon.policyMaps()
            + " policy maps",
        "–");
  }

  private static long median(long[] values) {
    final long[] sorted = values.clone();
    Arrays.sort(sorted);
    return sorted[sorted.length / 2];
  }

  private static String millis(long us) {
    return Report.figure(us / 1000.0) + " ms";
  }
}
