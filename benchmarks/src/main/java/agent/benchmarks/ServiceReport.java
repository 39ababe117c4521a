package agent.benchmarks;

import agent.datapath.spec.ServiceEntries;
import agent.datapath.spec.ServiceEntries.Backend;
import agent.maps.layout.BackendState;
import agent.maps.layout.ServiceScope;
import agent.testkit.TestControlGroup;
import agent.types.IpAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;

/**
 * TCP of a workload to another one by the address of a service: translated at the socket, and by
 * packet where the client is in another control group; and of a client outside by an address of the
 * node (NodePort). Beside the same connections without a service, and beside workloads without the
 * agent whose packets nftables translates. All are measured in turn.
 */
final class ServiceReport {
  private static final int ROUNDS = 9;
  private static final long ROUND_NS = TimeUnit.SECONDS.toNanos(1);
  private static final String FRONTEND = "10.96.0.1";
  private static final String KERNEL_FRONTEND = "10.96.0.2";
  private static final int PORT = 80;
  private static final int NODE_PORT = 30080;
  private static final int TCP = 6;

  /** What nftables does for the workloads without the agent. */
  private static final String RULES =
      """
      table ip bench {
        chain prerouting {
          type nat hook prerouting priority dstnat
          ip daddr %s tcp dport %d dnat to 10.77.0.16:8080
          ip daddr %s tcp dport %d dnat to 10.77.0.19:8080
        }
      }
      """;

  private final Report report;
  private final TestControlGroup group;
  private final TrafficLoad direct;
  private final TrafficLoad served;
  private final TrafficLoad kernel;
  private final Outside outside;

  /** Clients outside, to workloads by an address of the node, and without a service. */
  private record Outside(TrafficLoad served, TrafficLoad direct, TrafficLoad kernel) {}

  private ServiceReport(
      Report report,
      TestControlGroup group,
      TrafficLoad direct,
      TrafficLoad served,
      TrafficLoad kernel,
      Outside outside) {
    this.report = report;
    this.group = group;
    this.direct = direct;
    this.served = served;
    this.kernel = kernel;
    this.outside = outside;
  }

  static Report run() throws Exception {
    final Report report =
        new Report(
            "TCP to a service between two workloads of one node over IPv4, policy on, default options,"
                + " median of "
                + ROUNDS
                + " rounds of a second",
            "load",
            "agent",
            "reference in the same run",
            "agent of reference",
            "goal");
    try (TestControlGroup group = TestControlGroup.create();
        TrafficNode node = new TrafficNode("--cgroup-root=" + group.path());
        TrafficLoad direct = new TrafficLoad(node.endpoint(11), node.endpoint(12));
        TrafficLoad served = new TrafficLoad(node.endpoint(13), node.endpoint(14));
        TrafficLoad kernel = new TrafficLoad(node.bare(15), node.bare(16));
        TrafficLoad offered = new TrafficLoad(node.outside(), node.endpoint(17));
        TrafficLoad asked = new TrafficLoad(node.outside(), node.endpoint(18));
        TrafficLoad translated = new TrafficLoad(node.bareOutside(), node.bare(19))) {
      node.manager().services().restore(List.of(), Set.of()).join();
      serve(node, 1, FRONTEND, PORT, ServiceScope.INSIDE, "10.77.0.14");
      serve(node, 2, TrafficNode.ADDRESS, NODE_PORT, ServiceScope.OUTSIDE, "10.77.0.17");
      node.exec("nft", RULES.formatted(KERNEL_FRONTEND, PORT, TrafficNode.BARE_ADDRESS, NODE_PORT));
      served.by(FRONTEND, PORT);
      kernel.by(KERNEL_FRONTEND, PORT);
      offered.by(TrafficNode.ADDRESS, NODE_PORT);
      translated.by(TrafficNode.BARE_ADDRESS, NODE_PORT);
      final Outside outside = new Outside(offered, asked, translated);
      new ServiceReport(report, group, direct, served, kernel, outside).rows();
      System.out.println(node.options());
    }
    return report;
  }

  private static void serve(
      TrafficNode node, int id, String frontend, int port, ServiceScope scope, String backend) {
    final IpAddress address = IpAddress.parse(frontend);
    final Backend only =
        new Backend(IpAddress.parse(backend), TrafficNode.PORT, BackendState.ACTIVE, 1);
    node.manager()
        .services()
        .put(new ServiceEntries(id, address, port, List.of(TCP), 0, Set.of(scope), List.of(only)))
        .join();
  }

  private void rows() throws Exception {
    rows("connect, request, close (1/s)", TrafficLoad::connections, 1);
    rows("request, response (1/s)", TrafficLoad::requests, 0);
  }

  private void rows(String name, TrafficLoad.Load load, double goal) throws Exception {
    final List<Callable<Double>> loads =
        List.of(
            () -> group.run(() -> served.inClient(load, ROUND_NS)),
            () -> served.inClient(load, ROUND_NS),
            () -> direct.inClient(load, ROUND_NS),
            () -> kernel.inClient(load, ROUND_NS),
            () -> outside.served().inClient(load, ROUND_NS),
            () -> outside.direct().inClient(load, ROUND_NS),
            () -> outside.kernel().inClient(load, ROUND_NS));
    final List<double[]> figures = new ArrayList<>();
    for (final Callable<Double> each : loads) {
      each.call(); // compiles
      figures.add(new double[ROUNDS]);
    }
    for (int round = 0; round < ROUNDS; round++) {
      for (int i = 0; i < loads.size(); i++) {
        figures.get(i)[round] = loads.get(i).call();
      }
    }
    final double socket = Report.median(figures.get(0));
    final double packet = Report.median(figures.get(1));
    final double none = Report.median(figures.get(2));
    final double nftables = Report.median(figures.get(3));
    row(name + ", at the socket", socket, nftables, "nftables translates", goal);
    row(name + ", by packet", packet, nftables, "nftables translates", goal);
    row(name + ", at the socket", socket, none, "agent, no service", 0.95);
    row(name + ", by packet", packet, none, "agent, no service", 0);
    final double offered = Report.median(figures.get(4));
    final String outer = name + ", NodePort, client outside";
    row(outer, offered, Report.median(figures.get(6)), "nftables translates", goal);
    row(outer, offered, Report.median(figures.get(5)), "agent, no service", 0);
  }

  private void row(String name, double ours, double theirs, String reference, double goal) {
    final double ratio = ours / theirs;
    final String met = ratio >= goal ? "met" : "missed";
    report.row(
        name,
        "%,.0f".formatted(ours),
        "%,.0f (%s)".formatted(theirs, reference),
        "%.2fx".formatted(ratio),
        goal == 0 ? "" : "%.2f, %s".formatted(goal, met));
  }
}
