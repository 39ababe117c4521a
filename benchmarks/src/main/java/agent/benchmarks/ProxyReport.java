package agent.benchmarks;

import agent.bindings.process.ProcessAttributes;
import agent.testkit.NetworkNamespace;
import agent.testkit.VethPair;
import agent.testkit.Workload;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Requests of a workload through the HTTP proxy of the installed daemon, beside nginx as a reverse
 * proxy between two workloads without the agent, and beside servers that are reached without a
 * proxy; all are measured in turn. And the memory of many connections that are held.
 */
final class ProxyReport {
  private static final int ROUNDS = 7;
  private static final String ROUND = "3s";
  private static final String WARM_UP = "40s";
  private static final int CONNECTIONS = 64;
  private static final int RULE_PORT = 8080;
  private static final int OPEN_PORT = 8081;
  private static final int HELD = 10_000;
  private static final int HOLDERS = 8;

  /** What this process needs for itself, when each connection that it holds has one. */
  private static final int OWN_DESCRIPTORS = 1_000;

  private static final long HELD_GOAL_MB = 200;
  private static final String PROXY_ADDRESS = "10.202.0.2";

  private static final String RULES =
      """
      [{"endpointSelector":{"matchLabels":{"app":"server"}},"ingress":[
        {"toPorts":[{"ports":[{"port":"8080","protocol":"TCP"}],
          "rules":{"http":[{"method":"GET","path":"/public(/.*)?"}]}}]},
        {"toPorts":[{"ports":[{"port":"8081","protocol":"TCP"}]}]}]}]""";

  private static final byte[] REQUEST =
      "GET /public/a HTTP/1.1\r\nHost: bench\r\n\r\n".getBytes(StandardCharsets.US_ASCII);

  private final Path daemon;
  private final Report report =
      new Report(
          "HTTP between two workloads of one node over IPv4, keep-alive, answers of 1 KiB, "
              + CONNECTIONS
              + " connections (wrk), all on the same CPUs, median of "
              + ROUNDS
              + " rounds of "
              + ROUND,
          "load",
          "requests a second",
          "p50",
          "p99",
          "beside, in the same run",
          "ratio (p99)",
          "goal");

  private ProxyReport(Path daemon) {
    this.daemon = daemon;
  }

  /** Measures the daemon under an installation prefix. */
  static Report run(Path prefix) throws Exception {
    final ProxyReport proxy = new ProxyReport(prefix.resolve("bin/agent"));
    proxy.requests();
    proxy.held();
    return proxy.report;
  }

  /** What wrk measured in one round, or the median of several; times are in microseconds. */
  private record Load(double perSecond, double p50Us, double p99Us) {
    static Load median(List<Load> rounds) {
      return new Load(
          Report.median(rounds.stream().mapToDouble(Load::perSecond).toArray()),
          Report.median(rounds.stream().mapToDouble(Load::p50Us).toArray()),
          Report.median(rounds.stream().mapToDouble(Load::p99Us).toArray()));
    }
  }

  /** A client, and what it asks. */
  private record Target(String name, NetworkNamespace client, String address, int port) {
    Load run(String duration) {
      final String url = "http://" + address + ":" + port + "/public/a";
      final String output =
          client.exec(
              "wrk", "-t1", "-c" + CONNECTIONS, "-d" + duration, "--latency", "--timeout=10s", url);
      if (output.contains("Non-2xx") || output.contains("Socket errors")) {
        throw new IllegalStateException(name + ": " + output);
      }
      return new Load(
          Double.parseDouble(find(output, "Requests/sec:\\s+([0-9.]+)").group(1)),
          micros(output, "50%"),
          micros(output, "99%"));
    }

    private static double micros(String output, String percentile) {
      final Matcher time = find(output, percentile + "\\s+([0-9.]+)(us|ms|s)");
      final double factor =
          switch (time.group(2)) {
            case "us" -> 1;
            case "ms" -> 1_000;
            default -> 1_000_000;
          };
      return Double.parseDouble(time.group(1)) * factor;
    }

    private static Matcher find(String output, String pattern) {
      final Matcher matcher = Pattern.compile(pattern).matcher(output);
      if (!matcher.find()) {
        throw new IllegalStateException("wrk: " + output);
      }
      return matcher;
    }
  }

  private void requests() throws Exception {
    try (RunningDaemon running = new RunningDaemon(daemon);
        NetworkNamespace router = NetworkNamespace.create("benchr");
        NetworkNamespace bareClient = NetworkNamespace.create("benchc");
        NetworkNamespace bareServer = NetworkNamespace.create("benches")) {
      running.until("/endpoint");
      final Workload client = running.workload(1, "client");
      final Workload server = running.workload(2, "server");
      running.importRules(RULES);
      route(router, bareClient, "10.202.1");
      route(router, bareServer, "10.202.2");
      router.ip("address add " + PROXY_ADDRESS + "/32 dev lo");
      final int workers = Math.min(Runtime.getRuntime().availableProcessors(), 4);
      final String bareAddress = "10.202.2.2";
      try (NginxServer _ = NginxServer.origin(server.namespace());
          NginxServer _ = NginxServer.origin(bareServer);
          NginxServer _ = NginxServer.proxy(router, workers, bareAddress)) {
        measure(
            List.of(
                new Target("through the HTTP proxy", client.namespace(), server.ipv4(), RULE_PORT),
                new Target("nginx as a reverse proxy", bareClient, PROXY_ADDRESS, RULE_PORT),
                new Target(
                    "a port without HTTP rules, beside one with",
                    client.namespace(),
                    server.ipv4(),
                    OPEN_PORT),
                new Target("no agent, no proxy", bareClient, bareAddress, OPEN_PORT)));
      }
    }
  }

  /** Connects a workload to a node without the agent, whose kernel routes. */
  private static void route(NetworkNamespace router, NetworkNamespace workload, String net) {
    final String device = "w" + net.substring(net.lastIndexOf('.') + 1);
    VethPair.create(router, device, workload, "eth0");
    router.ip("address add " + net + ".1/24 dev " + device);
    router.exec("sysctl", "-qw", "net.ipv4.ip_forward=1");
    workload.ip("address add " + net + ".2/24 dev eth0");
    workload.ip("route add default via " + net + ".1");
  }

  private void measure(List<Target> targets) {
    final List<List<Load>> loads = new ArrayList<>();
    for (final Target target : targets) {
      target.run(loads.isEmpty() ? WARM_UP : "1s"); // compiles
      loads.add(new ArrayList<>());
    }
    for (int round = 0; round < ROUNDS; round++) {
      for (int i = 0; i < targets.size(); i++) {
        loads.get(i).add(targets.get(i).run(ROUND));
      }
    }
    final List<Load> medians = loads.stream().map(Load::median).toList();
    final Load nginx = medians.get(1);
    final Load bare = medians.get(3);
    row(targets.get(0), medians.get(0), targets.get(1), nginx, true);
    row(targets.get(2), medians.get(2), targets.get(3), bare, false);
    row(targets.get(0), medians.get(0), targets.get(2), medians.get(2), false);
    row(targets.get(1), nginx, targets.get(3), bare, false);
  }

  private void row(Target target, Load ours, Target reference, Load theirs, boolean hasGoal) {
    final double rate = ours.perSecond() / theirs.perSecond();
    final double tail = ours.p99Us() / theirs.p99Us();
    report.row(
        target.name(),
        "%,.0f".formatted(ours.perSecond()),
        "%,.0f us".formatted(ours.p50Us()),
        "%,.0f us".formatted(ours.p99Us()),
        "%,.0f, p50 %,.0f us, p99 %,.0f us (%s)"
            .formatted(theirs.perSecond(), theirs.p50Us(), theirs.p99Us(), reference.name()),
        "%.2fx (%.2fx)".formatted(rate, tail),
        !hasGoal ? "" : "1, p99 1.5, " + (rate >= 1 && tail <= 1.5 ? "met" : "missed"));
  }

  /** Connections that have each had an answer, from several workloads; most of them are idle. */
  private void held() throws Exception {
    try (RunningDaemon running = new RunningDaemon(daemon)) {
      running.until("/endpoint");
      final Workload server = running.workload(1, "server");
      final List<Workload> clients = new ArrayList<>();
      for (int i = 0; i < HOLDERS; i++) {
        clients.add(running.workload(2 + i, "client"));
      }
      running.importRules(RULES);
      try (NginxServer _ = NginxServer.origin(server.namespace())) {
        clients.getFirst().namespace().run(() -> hold(server.ipv4(), 1)).getFirst().close();
        final long before = running.residentKb();
        final List<SocketChannel> open = new ArrayList<>();
        try {
          for (final Workload client : clients) {
            client.namespace().run(() -> open.addAll(hold(server.ipv4(), held(HOLDERS))));
          }
          Thread.sleep(1_000);
          for (int i = 0; i < open.size(); i++) {
            ask(open.get(i), "held connection " + i);
          }
          heldRow(open.size(), running.residentKb() - before, before);
        } finally {
          for (final SocketChannel channel : open) {
            channel.close();
          }
        }
      }
    }
  }

  private static int held(int clients) {
    final long most = ProcessAttributes.descriptorLimit() - OWN_DESCRIPTORS;
    return (int) Math.min(HELD, most) / clients;
  }

  private static List<SocketChannel> hold(String address, int count) throws IOException {
    final List<SocketChannel> open = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      open.add(SocketChannel.open(new InetSocketAddress(address, RULE_PORT)));
      ask(open.getLast(), "connection " + i + " of " + count);
    }
    return open;
  }

  private static void ask(SocketChannel channel, String name) throws IOException {
    channel.write(ByteBuffer.wrap(REQUEST));
    final ByteBuffer answer = ByteBuffer.allocate(4096);
    int length = Integer.MAX_VALUE;
    while (answer.position() < length) {
      if (channel.read(answer) < 0) {
        throw new IOException(name + " was closed");
      }
      final String text =
          new String(answer.array(), 0, answer.position(), StandardCharsets.US_ASCII);
      final int end = text.indexOf("\r\n\r\n");
      if (end > 0) {
        length = end + 4 + NginxServer.BODY_BYTES;
      }
    }
    if (answer.get("HTTP/1.1 ".length()) != '2') {
      throw new IOException(name + " was refused");
    }
  }

  private void heldRow(int held, long usedKb, long beforeKb) {
    final long atGoalMb = usedKb * HELD / held / 1024;
    report.row(
        "%,d connections held".formatted(held),
        "",
        "",
        "",
        "%,d MB more than before (%,d MB resident)".formatted(usedKb / 1024, beforeKb / 1024),
        held == HELD
            ? "each has had two answers"
            : "%,d MB for %,d; the limit of open files allows no more".formatted(atGoalMb, HELD),
        HELD_GOAL_MB + " MB, " + (atGoalMb <= HELD_GOAL_MB ? "met" : "missed"));
  }
}
