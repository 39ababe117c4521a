package agent.benchmarks;

import static agent.benchmarks.BenchmarkNode.CLOSED_PORT;
import static agent.benchmarks.BenchmarkNode.OPEN_PORT;
import static agent.testkit.Packets.ipv4;
import static agent.testkit.Packets.ipv6;

import agent.benchmarks.BenchmarkNode.End;
import agent.bindings.BpfObject;
import agent.bindings.BpfProgram;
import agent.maps.layout.EndpointOption;
import agent.testkit.IpPacket;
import agent.types.IpAddress;
import java.util.OptionalLong;
import java.util.function.Supplier;

/**
 * Measures the programs with BPF_PROG_TEST_RUN as the agent loaded them, each beside the trivial
 * program of its type on the same packets in the same run.
 */
final class ProgramReport implements AutoCloseable {
  private static final int ACT_UNSPEC = -1;
  private static final int ACT_SHOT = 2;
  private static final int ACT_REDIRECT = 7;
  private static final int XDP_DROP = 1;
  private static final int XDP_PASS = 2;
  private static final int CLIENT_PORT = 31337;
  private static final int HOP_LIMIT = 64;
  private static final int LONG_LIST = 100_000;

  /** The options that are on by default, without drop notifications. */
  private static final int OPTIONS =
      EndpointOption.CONNTRACK.number()
          | EndpointOption.CONNTRACK_ACCOUNTING.number()
          | EndpointOption.SOURCE_IP_VERIFICATION.number();

  private final BenchmarkNode node;
  private final BpfObject trivial = TrivialObject.load();
  private final Variations variations = new Variations(trivial);
  private final TestRunTimer timer = new TestRunTimer();
  private final Report report =
      new Report(
          "Programs by BPF_PROG_TEST_RUN: ns a packet, medians of 9 runs of 400,000",
          "scenario",
          "program",
          "trivial",
          "net",
          "reference net",
          "faster than reference",
          "goal net",
          "goal");

  private ProgramReport(BenchmarkNode node) {
    this.node = node;
  }

  static Report run() throws Exception {
    try (BenchmarkNode node = new BenchmarkNode()) {
      return node.namespace()
          .run(
              () -> {
                node.launch(OPTIONS);
                try (ProgramReport programs = new ProgramReport(node)) {
                  programs.endpoints();
                  programs.prefilter(false);
                  programs.prefilter(true);
                  return programs.report;
                }
              });
    }
  }

  private void endpoints() {
    endpoints(false);
    endpoints(true);
  }

  private void endpoints(boolean ipv6) {
    final String family = ipv6 ? "IPv6 " : "";
    final BpfProgram from = node.endpointProgram(End.FIRST, "from_endpoint");
    final BpfProgram to = node.endpointProgram(End.SECOND, "to_endpoint");
    final BpfProgram fromOther = node.endpointProgram(End.SECOND, "from_endpoint");
    final BpfProgram toFirst = node.endpointProgram(End.FIRST, "to_endpoint");

    final byte[] out = packet(ipv6, End.FIRST, null, CLIENT_PORT, OPEN_PORT).ack().bytes();
    establish(ipv6, from, toFirst, End.FIRST, null);
    row(
        family + "T1 from endpoint to the stack, established, egress policy on",
        direct(from, out, ACT_UNSPEC),
        ipv6 ? 517 : 459,
        ipv6 ? 100 : 80);
    if (!ipv6) {
      row("T2 as T1, 65,536 flows", manyFlows(from, toFirst, out), 794, 200);
      row(
          "T3 from endpoint, denied by policy",
          direct(
              from,
              packet(false, End.FIRST, null, CLIENT_PORT, CLOSED_PORT).syn().bytes(),
              ACT_SHOT),
          376,
          150);
    }
    establish(ipv6, from, fromOther, End.FIRST, End.SECOND);
    final byte[] local = packet(ipv6, End.FIRST, End.SECOND, CLIENT_PORT, OPEN_PORT).ack().bytes();
    row(
        family + "T4 endpoint to endpoint, established, policy on both sides",
        restored(ipv6, from, local),
        ipv6 ? 1021 : 914,
        ipv6 ? 120 : 100);
    establish(ipv6, to, fromOther, null, End.SECOND);
    row(
        family + "T5 to endpoint, established, 16,000-entry policy map",
        direct(
            to, packet(ipv6, null, End.SECOND, CLIENT_PORT, OPEN_PORT).ack().bytes(), ACT_UNSPEC),
        ipv6 ? 380 : 350,
        ipv6 ? 100 : 80);
    if (!ipv6) {
      row(
          "T6 to endpoint, denied",
          direct(
              to,
              packet(false, null, End.SECOND, CLIENT_PORT, CLOSED_PORT).syn().bytes(),
              ACT_SHOT),
          268,
          120);
    }
  }

  /** Runs SYN, SYN and ACK, ACK through the programs on their path. */
  private void establish(
      boolean ipv6, BpfProgram forward, BpfProgram reply, End client, End server) {
    final int there = server != null && client != null ? ACT_REDIRECT : ACT_UNSPEC;
    expect(there, forward, () -> packet(ipv6, client, server, CLIENT_PORT, OPEN_PORT).syn());
    expect(there, reply, () -> packet(ipv6, server, client, OPEN_PORT, CLIENT_PORT).syn().ack());
    expect(there, forward, () -> packet(ipv6, client, server, CLIENT_PORT, OPEN_PORT).ack());
  }

  private void expect(int expected, BpfProgram program, Supplier<IpPacket> packet) {
    final int returned = timer.once(program, packet.get().bytes());
    if (returned != expected) {
      throw new IllegalStateException(
          "establishing the flow: the program returned " + returned + ", not " + expected);
    }
  }

  private TestRunTimer.Figures direct(BpfProgram program, byte[] packet, int expected) {
    return timer.measure(program, trivial.program("trivial_tc"), same -> same, packet, expected);
  }

  private TestRunTimer.Figures restored(boolean ipv6, BpfProgram program, byte[] packet) {
    variations.restore(packet, HOP_LIMIT);
    return timer.measure(
        program,
        trivial.program("trivial_tc"),
        variations.behind(ipv6 ? "restore6" : "restore4", "next_tc"),
        packet,
        ACT_REDIRECT);
  }

  private TestRunTimer.Figures manyFlows(BpfProgram from, BpfProgram to, byte[] packet) {
    for (int i = 0; i < Variations.COUNT; i++) {
      final String remote = "192.0.2." + (i >>> 8);
      final int port = 10_000 + (i & 255);
      variations.address(i, IpAddress.parse(remote).toBytes());
      variations.port(i, port);
      final String own = End.FIRST.ipv4;
      expect(ACT_UNSPEC, from, () -> local(ipv4(own, remote)).tcp(port, OPEN_PORT).syn());
      expect(ACT_UNSPEC, to, () -> ipv4(remote, own).tcp(OPEN_PORT, port).syn().ack());
      expect(ACT_UNSPEC, from, () -> local(ipv4(own, remote)).tcp(port, OPEN_PORT).ack());
    }
    return timer.measure(
        from,
        trivial.program("trivial_tc"),
        variations.behind("vary_flow4", "next_tc"),
        packet,
        ACT_UNSPEC);
  }

  private void prefilter(boolean ipv6) {
    final BpfProgram program = node.prefilterProgram();
    final PrefixList list = new PrefixList(ipv6, LONG_LIST);
    final byte[] packet = packet(ipv6, null, End.FIRST, CLIENT_PORT, OPEN_PORT).syn().bytes();
    node.manager().prefilter().add(OptionalLong.empty(), list.prefixes().subList(0, 1));
    if (!ipv6) {
      row(
          "X3 prefilter, one prefix, no match",
          timer.measure(program, trivial.program("trivial_xdp"), same -> same, packet, XDP_PASS),
          32,
          8);
    }
    final long start = System.nanoTime();
    node.manager().prefilter().add(OptionalLong.empty(), list.prefixes());
    final long insertedMs = (System.nanoTime() - start) / 1_000_000;
    final String family = ipv6 ? "IPv6 " : "";
    row(
        family + "X1 prefilter, 100,000 prefixes, 65,536 sources that do not match",
        varied(ipv6, program, packet, list::outside, XDP_PASS),
        ipv6 ? 194 : 177,
        ipv6 ? 15 : 10);
    row(
        family + "X2 prefilter, same list, 65,536 matching sources: drop",
        varied(ipv6, program, packet, list::inside, XDP_DROP),
        ipv6 ? 259 : 190,
        ipv6 ? 80 : 60);
    System.out.println(
        family + "100,000 prefixes from the call to enforced: " + insertedMs + " ms (goal 250 ms)");
  }

  private TestRunTimer.Figures varied(
      boolean ipv6, BpfProgram program, byte[] packet, Supplier<IpAddress> sources, int expected) {
    for (int i = 0; i < Variations.COUNT; i++) {
      variations.address(i, sources.get().toBytes());
    }
    return timer.measure(
        program,
        trivial.program("trivial_xdp"),
        variations.behind(ipv6 ? "vary_source6" : "vary_source4", "next_xdp"),
        packet,
        expected);
  }

  /** Creates a packet between endpoints; null stands for the remote address. */
  private static IpPacket packet(
      boolean ipv6, End source, End destination, int sourcePort, int destinationPort) {
    final IpPacket packet =
        ipv6
            ? ipv6(
                source == null ? BenchmarkNode.REMOTE6 : source.ipv6,
                destination == null ? BenchmarkNode.REMOTE6 : destination.ipv6)
            : ipv4(
                source == null ? BenchmarkNode.REMOTE4 : source.ipv4,
                destination == null ? BenchmarkNode.REMOTE4 : destination.ipv4);
    if (source != null) {
      packet.from(source.mac()).to(source.hostMac());
    }
    return packet.ttl(HOP_LIMIT).tcp(sourcePort, destinationPort);
  }

  private static IpPacket local(IpPacket packet) {
    return packet.from(End.FIRST.mac()).to(End.FIRST.hostMac());
  }

  private void row(String scenario, TestRunTimer.Figures figures, double reference, double goal) {
    report.row(
        scenario,
        Report.figure(figures.absoluteNs()),
        Report.figure(figures.trivialNs()),
        Report.figure(figures.netNs()),
        Report.figure(reference),
        Report.ratio(reference, figures.netNs()),
        Report.figure(goal),
        figures.netNs() <= goal ? "met" : "missed");
  }

  @Override
  public void close() {
    timer.close();
    variations.close();
    trivial.close();
  }
}
