package agent.benchmarks;

import static agent.benchmarks.BenchmarkNode.CLOSED_PORT;
import static agent.benchmarks.BenchmarkNode.OPEN_PORT;
import static agent.testkit.Packets.ipv4;
import static agent.testkit.Packets.ipv6;

import agent.benchmarks.BenchmarkNode.End;
import agent.benchmarks.BenchmarkNode.Hook;
import agent.bindings.bpf.BpfObject;
import agent.bindings.bpf.BpfProgram;
import agent.datapath.spec.DatapathEvents.FlowSubscriber;
import agent.endpoint.state.MonitorAggregation;
import agent.maps.kernel.MapCatalog;
import agent.testkit.IpPacket;
import agent.types.AddressPair;
import agent.types.IpAddress;
import java.util.Locale;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

/**
 * Measures the programs with BPF_PROG_TEST_RUN as the agent loaded them with its default options,
 * each beside its twin and the trivial program of its type on the same packets in the same run.
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

  /** Fewer than the events that an endpoint may cause in a second by default. */
  private static final int NOTIFIED = 4000;

  /** Of the window in which they are counted. */
  private static final int WINDOW_MS = 1100;

  private static final Set<String> XDP_TWINS = Set.of("floor_bit", "floor_trie_verdict");

  private final BenchmarkNode node;
  private final BpfObject trivial = TrivialObject.load();
  private final TwinObject twins;
  private final Variations variations = new Variations(trivial);
  private final TestRunTimer timer = new TestRunTimer();
  private final int conntrackEntries;
  private final Report report;

  private ProgramReport(BenchmarkNode node, Report report) {
    this.node = node;
    this.report = report;
    conntrackEntries = node.entries(MapCatalog.CONNTRACK4_TCP);
    twins = TwinObject.load(conntrackEntries, Variations.COUNT);
  }

  static Report run() throws Exception {
    final Report report =
        new Report(
            String.format(
                Locale.ROOT,
                "Programs by BPF_PROG_TEST_RUN: ns a packet, medians of %d runs of %,d",
                TestRunTimer.RUNS,
                TestRunTimer.REPEATS),
            "scenario",
            "program",
            "trivial",
            "net",
            "twin net",
            "of twin",
            "goal net",
            "goal",
            "peer net (quoted)",
            "faster than peer");
    try (BenchmarkNode node = new BenchmarkNode()) {
      node.namespace()
          .run(
              () -> {
                node.launch();
                node.attached()
                    .forEach(
                        endpoint ->
                            System.out.printf(
                                "Endpoint %d: %s%n", endpoint.id(), ShippedOptions.text(endpoint)));
                System.out.printf("Datapath: %s%n%n", ShippedOptions.text(node.manager()));
                try (ProgramReport programs = new ProgramReport(node, report)) {
                  programs.endpoints(false);
                  programs.endpoints(true);
                  programs.service(false);
                  programs.service(true);
                  programs.prefilter(false);
                  programs.prefilter(true);
                  programs.newFlows();
                  programs.observed();
                  programs.notified();
                }
                return null;
              });
    }
    try (BenchmarkNode node = new BenchmarkNode()) {
      node.namespace()
          .run(
              () -> {
                node.launchRouted();
                try (ProgramReport programs = new ProgramReport(node, report)) {
                  programs.masqueraded(false);
                  programs.masqueraded(true);
                }
                return null;
              });
    }
    return report;
  }

  private void endpoints(boolean ipv6) {
    final String family = ipv6 ? "IPv6 " : "";
    final Hook from = node.endpointHook(End.FIRST, "from_endpoint");
    final Hook to = node.endpointHook(End.SECOND, "to_endpoint");
    final Hook fromOther = node.endpointHook(End.SECOND, "from_endpoint");
    final Hook toFirst = node.endpointHook(End.FIRST, "to_endpoint");

    final byte[] out = packet(ipv6, End.FIRST, null, CLIENT_PORT, OPEN_PORT).ack().bytes();
    establish(ipv6, from, toFirst, End.FIRST, null);
    row(
        family + "T1 from endpoint to the stack, established, egress policy on",
        direct(ipv6, from, out, ACT_UNSPEC),
        ipv6 ? 517 : 459,
        ipv6 ? 60 : 50);
    if (!ipv6) {
      final TestRunTimer.Figures many = manyFlows(from, toFirst, out);
      row("T2 as T1, 65,536 flows", many, 794, 1.2 * many.twinNetNs());
      final byte[] closed = packet(false, End.FIRST, null, CLIENT_PORT, CLOSED_PORT).syn().bytes();
      row("T3 from endpoint, denied by policy", direct(false, from, closed, ACT_SHOT), 376, 100);
    }
    establish(ipv6, from, fromOther, End.FIRST, End.SECOND);
    final byte[] local = packet(ipv6, End.FIRST, End.SECOND, CLIENT_PORT, OPEN_PORT).ack().bytes();
    row(
        family + "T4 endpoint to endpoint, established, policy on both sides",
        restored(ipv6, from, local),
        ipv6 ? 1021 : 914,
        ipv6 ? 80 : 60);
    establish(ipv6, to, fromOther, null, End.SECOND);
    final byte[] in = packet(ipv6, null, End.SECOND, CLIENT_PORT, OPEN_PORT).ack().bytes();
    row(
        family + "T5 to endpoint, established, 16,000-entry policy map",
        direct(ipv6, to, in, ACT_UNSPEC),
        ipv6 ? 380 : 350,
        ipv6 ? 60 : 50);
    if (!ipv6) {
      final byte[] closed = packet(false, null, End.SECOND, CLIENT_PORT, CLOSED_PORT).syn().bytes();
      row("T6 to endpoint, denied", direct(false, to, closed, ACT_SHOT), 268, 110);
    }
  }

  /** The endpoint that opens the flow is given the other one as its backend. */
  private void service(boolean ipv6) {
    final Hook from = node.endpointHook(End.FIRST, "from_endpoint");
    final Hook fromOther = node.endpointHook(End.SECOND, "from_endpoint");
    node.serve(ipv6);
    int port = CLIENT_PORT + 1;
    while (timer.on(from.ifindex()).once(from.program(), toService(ipv6, port).syn().bytes())
        != ACT_REDIRECT) {
      port++;
    }
    final int client = port;
    expect(
        ACT_REDIRECT,
        fromOther,
        () -> packet(ipv6, End.SECOND, End.FIRST, OPEN_PORT, client).syn().ack());
    final byte[] packet = toService(ipv6, client).ack().bytes();
    variations.restore(packet, HOP_LIMIT);
    for (int i = 0; i < Variations.COUNT; i++) {
      variations.address(i, service(ipv6 ? BenchmarkNode.SERVICE6 : BenchmarkNode.SERVICE4));
      variations.port(i, BenchmarkNode.SERVICE_PORT);
    }
    row(
        (ipv6 ? "IPv6 " : "") + "T8 endpoint to a service with 3 backends, established, per packet",
        delivered(ipv6, from, "restore_service", packet),
        ipv6 ? 812 : 679,
        ipv6 ? 120 : 100);
  }

  /** A flow of the first endpoint that leaves with the address of the device. */
  private void masqueraded(boolean ipv6) {
    final String family = ipv6 ? "IPv6 " : "";
    final Hook from = node.endpointHook(End.FIRST, "from_endpoint");
    final Hook back = node.deviceHook();
    // Linux sends with DF; without it, a number is to be counted.
    final Supplier<IpPacket> out =
        () -> packet(ipv6, End.FIRST, null, CLIENT_PORT, OPEN_PORT).mayNotBeSplit();
    expect(ACT_UNSPEC, from, () -> out.get().syn());
    expect(ACT_REDIRECT, back, () -> toDevice(ipv6).syn().ack());
    expect(ACT_REDIRECT, from, () -> out.get().ack());
    final int goal = 110;
    row(
        family + "T9 masqueraded to the network, established, out",
        rebuilt(ipv6, from, out.get().ack().bytes()),
        Double.NaN,
        goal);
    row(
        family + "T9 masqueraded to the network, established, back",
        rebuilt(ipv6, back, toDevice(ipv6).ack().bytes()),
        Double.NaN,
        goal);
  }

  /** What the remote address answers. */
  private IpPacket toDevice(boolean ipv6) {
    final AddressPair own = RoutedDevice.OWN;
    return (ipv6
            ? ipv6(BenchmarkNode.REMOTE6, own.ipv6().toString())
            : ipv4(BenchmarkNode.REMOTE4, own.ipv4().toString()))
        .to(node.deviceMac())
        .ttl(HOP_LIMIT)
        .tcp(OPEN_PORT, CLIENT_PORT);
  }

  /** Restores all headers before each repeat. */
  private TestRunTimer.Figures rebuilt(boolean ipv6, Hook hook, byte[] packet) {
    variations.headers(packet);
    return delivered(ipv6, hook, "restore_headers", packet);
  }

  private static byte[] service(String address) {
    return IpAddress.parse(address).toBytes();
  }

  private static IpPacket toService(boolean ipv6, int port) {
    final IpPacket packet =
        ipv6
            ? ipv6(End.FIRST.ipv6, BenchmarkNode.SERVICE6)
            : ipv4(End.FIRST.ipv4, BenchmarkNode.SERVICE4);
    return local(packet).ttl(HOP_LIMIT).tcp(port, BenchmarkNode.SERVICE_PORT);
  }

  /** Runs SYN, SYN and ACK, ACK through the programs on their path. */
  private void establish(boolean ipv6, Hook forward, Hook reply, End client, End server) {
    final int there = server != null && client != null ? ACT_REDIRECT : ACT_UNSPEC;
    expect(there, forward, () -> packet(ipv6, client, server, CLIENT_PORT, OPEN_PORT).syn());
    expect(there, reply, () -> packet(ipv6, server, client, OPEN_PORT, CLIENT_PORT).syn().ack());
    expect(there, forward, () -> packet(ipv6, client, server, CLIENT_PORT, OPEN_PORT).ack());
  }

  private void expect(int expected, Hook hook, Supplier<IpPacket> packet) {
    final int returned = timer.on(hook.ifindex()).once(hook.program(), packet.get().bytes());
    if (returned != expected) {
      throw new IllegalStateException(
          "establishing the flow: the program returned " + returned + ", not " + expected);
    }
  }

  private TestRunTimer.Subjects beside(BpfProgram program, String twin, boolean ipv6) {
    return new TestRunTimer.Subjects(
        program,
        twins.program(twin, ipv6),
        trivial.program(XDP_TWINS.contains(twin) ? "trivial_xdp" : "trivial_tc"));
  }

  private TestRunTimer.Figures direct(boolean ipv6, Hook hook, byte[] packet, int expected) {
    return timer
        .on(hook.ifindex())
        .measure(beside(hook.program(), "floor_pass", ipv6), same -> same, packet, expected);
  }

  private TestRunTimer.Figures restored(boolean ipv6, Hook hook, byte[] packet) {
    variations.restore(packet, HOP_LIMIT);
    return delivered(ipv6, hook, "restore", packet);
  }

  /** A program that redirects the packet, behind one that restores what it changes. */
  private TestRunTimer.Figures delivered(boolean ipv6, Hook hook, String restoring, byte[] packet) {
    return timer
        .on(hook.ifindex())
        .measure(
            beside(hook.program(), "floor_deliver", ipv6),
            variations.behind(restoring + (ipv6 ? "6" : "4"), "next_tc"),
            packet,
            ACT_REDIRECT);
  }

  /** T1 again, while a subscriber hears the events of an endpoint with aggregation Medium. */
  private void observed() throws Exception {
    final Hook from = node.endpointHook(End.FIRST, "from_endpoint");
    final Hook to = node.endpointHook(End.FIRST, "to_endpoint");
    final byte[] out = packet(false, End.FIRST, null, CLIENT_PORT, OPEN_PORT).ack().bytes();
    establish(false, from, to, End.FIRST, null);
    final double alone = direct(false, from, out, ACT_UNSPEC).netNs();
    node.aggregate(MonitorAggregation.MEDIUM);
    node.manager().events().subscribe(event -> {}).get();
    establish(false, from, to, End.FIRST, null);
    row(
        "T1 with a subscriber, aggregation Medium (goal: twice T1 in turn with it)",
        direct(false, from, out, ACT_UNSPEC),
        Double.NaN,
        2 * alone);
  }

  /** T3 again, while a subscriber reads each notification; the time ends with the last one. */
  private void notified() throws Exception {
    final Hook from = node.endpointHook(End.FIRST, "from_endpoint");
    final byte[] closed = packet(false, End.FIRST, null, CLIENT_PORT, CLOSED_PORT).syn().bytes();
    final AtomicInteger read = new AtomicInteger();
    final FlowSubscriber subscriber = event -> read.incrementAndGet();
    node.manager().events().subscribe(subscriber).get();
    final long[] elapsedNs = new long[TestRunTimer.RUNS];
    for (int i = 0; i < elapsedNs.length; i++) {
      Thread.sleep(WINDOW_MS); // an endpoint has a share of events in each
      read.set(0);
      final long start = System.nanoTime();
      timer.on(from.ifindex()).times(from.program(), closed, NOTIFIED);
      while (read.get() < NOTIFIED) {
        if (System.nanoTime() - start > 1_000_000_000) {
          throw new IllegalStateException(read + " of " + NOTIFIED + " notifications were read");
        }
        Thread.onSpinWait();
      }
      elapsedNs[i] = System.nanoTime() - start;
    }
    node.manager().events().unsubscribe(subscriber);
    row(
        "a denied packet with its notification read by a subscriber, 4,000 at once",
        new TestRunTimer.Figures(TestRunTimer.median(elapsedNs) / NOTIFIED, Double.NaN, 0),
        8770,
        1500);
  }

  /**
   * Every packet opens a flow while the table of the twin is full; those of the agent go to the
   * overflow, which is full, since the endpoint has its share of the table.
   */
  private void newFlows() {
    final Hook from = node.endpointHook(End.FIRST, "from_endpoint");
    final TestRunTimer.Subjects subjects = beside(from.program(), "floor_insert", false);
    final TestRunTimer.Selection varied = variations.behind("vary_new_flow4", "next_tc");
    final byte[] packet = packet(false, End.FIRST, null, CLIENT_PORT, OPEN_PORT).syn().bytes();
    timer.on(from.ifindex());
    timer.run(subjects.measured(), varied, packet, conntrackEntries + conntrackEntries / 4);
    timer.run(subjects.twin(), varied, packet, conntrackEntries + conntrackEntries / 4);
    row(
        "T7 from endpoint, every packet a new flow, table full (twin: the kernel's update alone)",
        timer.measure(subjects, varied, packet, ACT_UNSPEC, ACT_SHOT),
        1436,
        700);
  }

  private TestRunTimer.Figures manyFlows(Hook from, Hook to, byte[] packet) {
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
    return timer
        .on(from.ifindex())
        .measure(
            beside(from.program(), "floor_pass", false),
            variations.behind("vary_flow4", "next_tc"),
            packet,
            ACT_UNSPEC);
  }

  private void prefilter(boolean ipv6) {
    final BpfProgram program = node.prefilterProgram();
    timer.on(0);
    final PrefixList list = new PrefixList(ipv6, LONG_LIST);
    final byte[] packet = packet(ipv6, null, End.FIRST, CLIENT_PORT, OPEN_PORT).syn().bytes();
    node.manager().prefilter().add(OptionalLong.empty(), list.prefixes().subList(0, 1));
    if (!ipv6) {
      row(
          "X3 prefilter, one prefix, no match",
          timer.measure(beside(program, "floor_bit", false), same -> same, packet, XDP_PASS),
          32,
          4);
    }
    final long start = System.nanoTime();
    node.manager().prefilter().add(OptionalLong.empty(), list.prefixes());
    final long insertedMs = (System.nanoTime() - start) / 1_000_000;
    twins.insert(list.prefixes(), ipv6);
    final String family = ipv6 ? "IPv6 " : "";
    final TestRunTimer.Figures none =
        varied(ipv6, beside(program, "floor_bit", ipv6), packet, list::outside, XDP_PASS);
    row(
        family + "X1 prefilter, 100,000 prefixes, 65,536 sources that do not match",
        none,
        ipv6 ? 194 : 177,
        3 * none.twinNetNs());
    row(
        family + "X2 prefilter, same list, 65,536 matching sources: drop (twin: LPM trie)",
        varied(ipv6, beside(program, "floor_trie_verdict", ipv6), packet, list::inside, XDP_DROP),
        ipv6 ? 259 : 190,
        2 * none.twinNetNs() + 40);
    System.out.println(
        family
            + "100,000 prefixes from the call to enforced: "
            + insertedMs
            + " ms (goal 250 ms: "
            + (insertedMs <= 250 ? "met)" : "missed)"));
  }

  private TestRunTimer.Figures varied(
      boolean ipv6,
      TestRunTimer.Subjects subjects,
      byte[] packet,
      Supplier<IpAddress> sources,
      int expected) {
    for (int i = 0; i < Variations.COUNT; i++) {
      variations.address(i, sources.get().toBytes());
    }
    return timer.measure(
        subjects,
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

  /** Adds a row; the peer's figure is quoted, it is not measured here. */
  private void row(String scenario, TestRunTimer.Figures figures, double peer, double goal) {
    report.row(
        scenario,
        Report.figure(figures.absoluteNs()),
        Report.figure(figures.trivialNs()),
        Report.figure(figures.netNs()),
        Report.figure(figures.twinNetNs()),
        Report.ratio(figures.netNs(), figures.twinNetNs()),
        Report.figure(goal),
        figures.netNs() <= goal ? "met" : "missed",
        Report.figure(peer),
        Report.ratio(peer, figures.netNs()));
  }

  @Override
  public void close() {
    timer.close();
    variations.close();
    twins.close();
    trivial.close();
  }
}
