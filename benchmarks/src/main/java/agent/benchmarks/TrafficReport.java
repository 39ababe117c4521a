package agent.benchmarks;

import agent.testkit.PacketFlood;
import agent.testkit.Packets;
import agent.testkit.Workload;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * TCP between two workloads of one node with policy on, beside two workloads to which the kernel
 * routes without the agent, measured in turn; and the connections of a workload while another one
 * floods, beside those while another thread computes.
 */
final class TrafficReport {
  private static final int ROUNDS = 7;
  private static final long ROUND_NS = TimeUnit.SECONDS.toNanos(1);
  private static final int FLOOD_BATCH = 2000;
  private static final String SILENT = "198.51.100.7";

  private final Report report;
  private final TrafficNode node;
  private int opened;

  private TrafficReport(Report report, TrafficNode node) {
    this.report = report;
    this.node = node;
  }

  static Report run() throws Exception {
    final Report report =
        new Report(
            "TCP between two workloads of one node over IPv4, policy on, default options, median of "
                + ROUNDS
                + " rounds of a second",
            "load",
            "agent",
            "reference in the same run",
            "agent of reference",
            "goal");
    try (TrafficNode node = new TrafficNode()) {
      new TrafficReport(report, node).rows();
      System.out.println(node.options());
    }
    return report;
  }

  private void rows() throws Exception {
    try (TrafficLoad agent = new TrafficLoad(node.endpoint(11), node.endpoint(12));
        TrafficLoad kernel = new TrafficLoad(node.bare(13), node.bare(14))) {
      row("connect, request, close (1/s)", agent, kernel, TrafficLoad::connections);
      row("request, response (1/s)", agent, kernel, TrafficLoad::requests);
      row("stream (Gbit/s)", agent, kernel, TrafficLoad::gigabits);
      flooded(agent, node.unconfined(15));
    }
  }

  private void row(String name, TrafficLoad agent, TrafficLoad kernel, TrafficLoad.Load load)
      throws Exception {
    final double[] ours = new double[ROUNDS];
    final double[] theirs = new double[ROUNDS];
    agent.inClient(load, ROUND_NS); // compiles
    kernel.inClient(load, ROUND_NS);
    for (int round = 0; round < ROUNDS; round++) {
      ours[round] = agent.inClient(load, ROUND_NS);
      theirs[round] = kernel.inClient(load, ROUND_NS);
    }
    final double ratio = Report.median(ours) / Report.median(theirs);
    report.row(
        name,
        figure(Report.median(ours)),
        figure(Report.median(theirs)) + " (the kernel routes)",
        "%.2fx".formatted(ratio),
        ratio >= 1 ? "1, met" : "1, missed");
  }

  private void flooded(TrafficLoad agent, Workload flooder) throws Exception {
    final double[] flooded = new double[ROUNDS];
    final double[] computing = new double[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
      computing[round] = beside(agent, () -> compute());
      flooded[round] = beside(agent, () -> flood(flooder));
    }
    final double ratio = Report.median(flooded) / Report.median(computing);
    report.row(
        "connect, request, close while another workload opens flows (1/s)",
        figure(Report.median(flooded)),
        figure(Report.median(computing)) + " (while a thread computes)",
        "%.2fx".formatted(ratio),
        ratio >= 0.8 ? "0.8, met" : "0.8, missed");
    final long overflowed = node.manager().status().conntrack().overflowed();
    report.row(
        "flows that the other workload opened",
        "%,d".formatted(opened),
        "%,d".formatted(overflowed) + " (of them beyond its share)",
        "",
        "");
  }

  /** Returns the connections a second while another thread repeats its work. */
  private static double beside(TrafficLoad agent, Runnable work) throws Exception {
    final AtomicBoolean isDone = new AtomicBoolean();
    final Thread other =
        Thread.ofPlatform()
            .start(
                () -> {
                  while (!isDone.get()) {
                    work.run();
                  }
                });
    try {
      return agent.inClient(TrafficLoad::connections, ROUND_NS);
    } finally {
      isDone.set(true);
      other.join();
    }
  }

  /** Opens flows from forged ports to an address that does not answer. */
  private void flood(Workload flooder) {
    PacketFlood.send(
        flooder.namespace(),
        flooder.veth().workloadInterface(),
        FLOOD_BATCH,
        number -> syn(flooder, opened++));
  }

  private static byte[] syn(Workload flooder, int number) {
    return Packets.ipv4(flooder.ipv4(), SILENT)
        .from(flooder.veth().workloadMac())
        .to(flooder.veth().hostMac())
        .tcp(number & 0xffff, number >>> 16 & 0xffff)
        .syn()
        .bytes();
  }

  private static void compute() {
    final long untilNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(20);
    while (System.nanoTime() < untilNs) {
      Thread.onSpinWait();
    }
  }

  private static String figure(double value) {
    return value < 100 ? "%.1f".formatted(value) : "%,.0f".formatted(value);
  }
}
