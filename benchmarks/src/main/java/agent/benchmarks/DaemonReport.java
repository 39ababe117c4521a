package agent.benchmarks;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Measures the installed daemon: its start, new endpoints, resident memory, reads, and changes of
 * policy.
 */
final class DaemonReport {
  private static final int STARTS = 7;
  private static final int ENDPOINTS = 10;
  private static final int FURTHER_ENDPOINTS = 20;
  private static final long RESIDENT_GOAL_MB = 128;
  private static final int CONNECTIONS = 4;
  private static final int READ_SECONDS = 10;
  private static final long READ_P99_GOAL_US = 500;
  private static final int POLICY_ENDPOINTS = 4;
  private static final int CHANGE_SECONDS = 10;
  private static final long HEALTH_P99_GOAL_US = 5000;
  private static final int SERVICES = 10_000;
  private static final int SERVICE_RUNS = 3;
  private static final long SERVICES_GOAL_MS = 5000;
  private static final int NAMES = 10_000;
  private static final int ADDRESSES = 5;
  private static final int NAME_RUNS = 3;
  private static final long NAMES_GOAL_MS = 2000;

  private final Path daemon;
  private final Report report =
      new Report("The daemon", "work", "measured", "goal", "goal met", "peer (quoted)", "remarks");

  private DaemonReport(Path daemon) {
    this.daemon = daemon;
  }

  /** Measures the daemon under an installation prefix. */
  static Report run(Path prefix) throws Exception {
    final DaemonReport daemon = new DaemonReport(prefix.resolve("bin/agent"));
    daemon.starts();
    daemon.endpoints();
    daemon.reads();
    daemon.policyChanges();
    daemon.services();
    daemon.names();
    return daemon.report;
  }

  private void starts() throws Exception {
    final long[] answered = new long[STARTS];
    final long[] ready = new long[STARTS];
    for (int i = 0; i < STARTS; i++) {
      try (RunningDaemon running = new RunningDaemon(daemon)) {
        answered[i] = running.until("/healthz");
        ready[i] = running.until("/endpoint");
      }
    }
    row("start to first answer, node without state", answered, "1,100 to 1,500 ms", 600);
    row("start to datapath ready", ready, "–", 800);
  }

  private void endpoints() throws Exception {
    try (RunningDaemon running = new RunningDaemon(daemon)) {
      running.until("/endpoint");
      final List<String> requests = plumb(running, ENDPOINTS + FURTHER_ENDPOINTS);
      final long[] first = running.create(requests.subList(0, ENDPOINTS));
      final long residentKb = running.residentKb();
      final long anonymousKb = running.anonymousKb();
      final long[] further =
          running.create(requests.subList(ENDPOINTS, ENDPOINTS + FURTHER_ENDPOINTS));
      row("new endpoint to enforced, the first ten", first, "211 ms", 25);
      row("new endpoint to enforced, twenty further", further, "211 ms", 25);
      report.row(
          "resident memory, 10 endpoints",
          residentKb / 1024 + " MB",
          RESIDENT_GOAL_MB + " MB",
          residentKb / 1024 <= RESIDENT_GOAL_MB ? "met" : "missed",
          "195 to 219 MB",
          "VmRSS, " + anonymousKb / 1024 + " MB of it no pages of files");
    }
  }

  /** Creates the interfaces of workloads and returns the requests that create their endpoints. */
  private static List<String> plumb(RunningDaemon running, int count) {
    return IntStream.range(0, count).mapToObj(running::plumb).toList();
  }

  /** Reads of the API while nothing changes; the clients have the same processors. */
  private void reads() throws Exception {
    try (RunningDaemon running = new RunningDaemon(daemon)) {
      running.until("/endpoint");
      running.create(plumb(running, ENDPOINTS));
      read(running, "/healthz", 100_000, "11,000 to 15,500 a second");
      read(running, "/endpoint", 20_000, "168 a second");
    }
  }

  private void read(RunningDaemon running, String path, int goal, String peer) throws Exception {
    final ReadLoad.Result result = running.load(path).run(CONNECTIONS, READ_SECONDS);
    final ReadLoad.Result floor = floor(path, (int) result.answerBytes());
    report.row(
        "GET " + path + ", 10 endpoints, " + CONNECTIONS + " connections",
        Report.figure(result.perSecond()) + " a second, p99 " + result.p99Us() + " us",
        goal + " a second, p99 " + READ_P99_GOAL_US + " us",
        result.perSecond() >= goal && result.p99Us() <= READ_P99_GOAL_US ? "met" : "missed",
        peer,
        "%d bytes an answer; a bare loop that sends them: %s a second, p99 %d us"
            .formatted(result.answerBytes(), Report.figure(floor.perSecond()), floor.p99Us()));
  }

  /** Reads as many bytes from a server that does nothing else than to send them. */
  private static ReadLoad.Result floor(String path, int answerBytes) throws Exception {
    final Path directory = Files.createTempDirectory("agent-floor-");
    final Path socket = directory.resolve("socket");
    try (BareServer _ = new BareServer(socket, answerBytes)) {
      return new ReadLoad(socket, path).run(CONNECTIONS, READ_SECONDS);
    } finally {
      Files.deleteIfExists(socket);
      Files.delete(directory);
    }
  }

  /** Changes of policy at the rate of the goal, and as many as are answered. */
  private void policyChanges() throws Exception {
    try (RunningDaemon running = new RunningDaemon(daemon)) {
      running.until("/endpoint");
      running.create(plumb(running, POLICY_ENDPOINTS));
      running.policyLoad().run(0, CHANGE_SECONDS); // warms up
      changes("500 policy changes a second", running.policyLoad().run(500, CHANGE_SECONDS), true);
      changes("as many as are answered", running.policyLoad().run(0, CHANGE_SECONDS), false);
    }
  }

  private void changes(String what, PolicyLoad.Result result, boolean hasHealthGoal) {
    final boolean isHealthy = !hasHealthGoal || result.healthP99Us() <= HEALTH_P99_GOAL_US;
    report.row(
        "64 clients, " + what,
        Report.figure(result.perSecond())
            + " a second, GET /healthz p99 "
            + millis(result.healthP99Us()),
        "500 a second" + (hasHealthGoal ? ", p99 " + millis(HEALTH_P99_GOAL_US) : ""),
        result.perSecond() >= 490 && isHealthy ? "met" : "missed",
        "–",
        "PUT /policy median %s, p99 %s; GET /healthz median %s"
            .formatted(
                millis(result.changeP50Us()),
                millis(result.changeP99Us()),
                millis(result.healthP50Us())));
  }

  /** Services of an empty node, each answered when it is in force and on the disk. */
  private void services() throws Exception {
    final long[] times = new long[SERVICE_RUNS];
    for (int i = 0; i < SERVICE_RUNS; i++) {
      try (RunningDaemon running = new RunningDaemon(daemon)) {
        running.until("/endpoint");
        times[i] = running.serviceLoad().run(SERVICES) * 1000;
      }
    }
    row("10,000 services of 10 backends, 16 connections", times, "–", SERVICES_GOAL_MS);
  }

  /** A rule of one endpoint that selects names, answered when the kernel has their addresses. */
  private void names() throws Exception {
    final long[] times = new long[NAME_RUNS];
    final Path file = Files.createTempFile("agent-names-", ".json");
    try {
      Files.writeString(
          file,
          IntStream.range(0, NAMES)
              .mapToObj(DaemonReport::name)
              .collect(Collectors.joining(",", "[", "]")));
      final String[] options = {
        "--tofqdns-pre-cache", file.toString(), "--bpf-policy-map-max", "65536"
      };
      for (int i = 0; i < NAME_RUNS; i++) {
        try (RunningDaemon running = new RunningDaemon(daemon, options)) {
          running.until("/endpoint");
          running.create(plumb(running, 1));
          times[i] =
              running.importRules(
                  """
                  [{"endpointSelector":{"matchLabels":{"app":"bench"}},
                  "egress":[{"toFQDNs":[{"matchPattern":"*.example.org"}]}]}]""");
        }
      }
    } finally {
      Files.delete(file);
    }
    row("import of a rule with 10,000 names of 5 addresses", times, "–", NAMES_GOAL_MS);
  }

  private static String name(int number) {
    final String addresses =
        IntStream.range(number * ADDRESSES, (number + 1) * ADDRESSES)
            .mapToObj(i -> "\"198.%d.%d.%d\"".formatted(18 + (i >> 16), i >> 8 & 0xff, i & 0xff))
            .collect(Collectors.joining(","));
    return "{\"fqdn\":\"n%d.example.org\",\"ips\":[%s],\"ttl\":3600}".formatted(number, addresses);
  }

  private void row(String work, long[] timesUs, String peer, long goalMs) {
    Arrays.sort(timesUs);
    report.row(
        work,
        millis(timesUs[timesUs.length / 2]),
        goalMs + " ms",
        timesUs[timesUs.length / 2] <= goalMs * 1000 ? "met" : "missed",
        peer,
        "median of "
            + timesUs.length
            + ", "
            + millis(timesUs[0])
            + " to "
            + millis(timesUs[timesUs.length - 1]));
  }

  private static String millis(long us) {
    return Report.figure(us / 1000.0) + " ms";
  }
}
