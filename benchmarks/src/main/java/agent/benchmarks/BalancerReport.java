package agent.benchmarks;

import static agent.testkit.Packets.ipv4;
import static agent.testkit.Packets.ipv6;

import agent.bindings.bpf.BpfLink;
import agent.bindings.bpf.BpfObject;
import agent.bindings.bpf.BpfProgram;
import agent.bindings.net.NetworkDevice;
import agent.datapath.manager.DatapathManager;
import agent.datapath.spec.Balancing;
import agent.datapath.spec.DatapathContext;
import agent.datapath.spec.FlowRing;
import agent.datapath.spec.Masquerading;
import agent.datapath.spec.ServiceEntries;
import agent.datapath.spec.ServiceEntries.Backend;
import agent.datapath.spec.SocketPorts;
import agent.maps.layout.BackendState;
import agent.maps.layout.ServiceForwarding;
import agent.maps.layout.ServiceScope;
import agent.testkit.IpPacket;
import agent.testkit.NetworkNamespace;
import agent.testkit.TemporaryBpfFileSystem;
import agent.testkit.TestControlGroup;
import agent.testkit.VethPair;
import agent.types.IpAddress;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/**
 * Measures the load balancer with BPF_PROG_TEST_RUN as the agent loaded it, beside the trivial XDP
 * program on the same packets in the same run: the packets that one core forwards or passes in a
 * second. A service has 100 backends and a table of 16,381 cells. Of one with SNAT, the program of
 * the stack opens the flows, which are translated then.
 */
final class BalancerReport {
  private static final int XDP_PASS = 2;
  private static final int XDP_TX = 3;
  private static final int BACKENDS = 100;
  private static final int PORT = 80;
  private static final int TCP = 6;
  private static final int HOP_LIMIT = 64;
  private static final int CLIENT_PORT = 31_337;
  private static final String DEVICE = "net0";
  private static final double NS_PER_SECOND = 1e9;
  private static final int CLIENT = 99; // the last part of an address
  private static final int OTHER_CLIENT = 98;
  private static final int CLIENTS = 97;
  private static final int IPV4_PORTS = 34; // offset in the frame
  private static final int IPV6_PORTS = 54;
  private static final int FLOWS = 64_512;
  private static final int LEAST_PORT = 1024; // of those that SNAT keeps

  private final Report report =
      new Report(
          String.format(
              Locale.ROOT,
              "Load balancer by BPF_PROG_TEST_RUN: medians of %d runs of %,d packets",
              TestRunTimer.RUNS,
              TestRunTimer.REPEATS),
          "scenario",
          "balancer ns",
          "trivial ns",
          "balancer packets/s a core",
          "trivial packets/s a core",
          "of trivial");

  private BalancerReport() {}

  static Report run() throws Exception {
    try (TemporaryFolder state = TemporaryFolder.create();
        NetworkNamespace host = NetworkNamespace.create("bench");
        NetworkNamespace network = NetworkNamespace.create("bench");
        TemporaryBpfFileSystem bpffs = TemporaryBpfFileSystem.mount();
        TestControlGroup group = TestControlGroup.create()) {
      VethPair.create(host, DEVICE, network, "peer");
      final BalancerReport balancer = new BalancerReport();
      final DatapathContext context =
          new DatapathContext()
              .bpfRoot(bpffs.path())
              .libDirectory(state.path())
              .cgroupRoot(group.path())
              .gateway4(IpAddress.parse("10.77.0.1"))
              .gateway6(IpAddress.parse("fd77::1"))
              .masquerading(
                  new Masquerading(
                      Map.of(DEVICE, RoutedDevice.OWN), null, null, SocketPorts.NONE, null))
              .balancing(new Balancing(DEVICE, RoutedDevice.OWN));
      RoutedDevice.route(host, DEVICE);
      return host.run(
          () ->
              balancer.measure(
                  context.devices(Map.of(DEVICE, NetworkDevice.index(DEVICE))), bpffs.path()));
    }
  }

  private Report measure(DatapathContext context, Path bpfRoot) {
    final Path pins = bpfRoot.resolve("agent/devices").resolve(DEVICE);
    try (DatapathManager manager =
            DatapathManager.launch(context, new FlowRing(0, Set.of(), System::nanoTime));
        BpfProgram program = pinned(pins.resolve("balancer"));
        BpfProgram ofStack = pinned(pins.resolve("from_network"));
        BpfObject trivial = TrivialObject.load();
        Variations variations = new Variations(trivial);
        TestRunTimer timer = new TestRunTimer()) {
      timer.fromDevice(NetworkDevice.index(DEVICE));
      for (final boolean isIpv6 : new boolean[] {false, true}) {
        manager.services().put(service(isIpv6, ServiceForwarding.DSR)).join();
        for (final boolean hasManyFlows : new boolean[] {false, true}) {
          for (final boolean isServed : new boolean[] {true, false}) {
            final byte[] packet = packet(isIpv6, isServed, CLIENT).ack().bytes();
            for (int i = 0; i < Variations.COUNT; i++) {
              variations.port(i, hasManyFlows ? i : CLIENT_PORT);
            }
            variations.restore(packet, HOP_LIMIT);
            final BpfProgram baseline = trivial.program("trivial_xdp");
            row(
                (isIpv6 ? "IPv6 " : "IPv4 ")
                    + (isServed ? "to a service, " : "to no service, ")
                    + (hasManyFlows ? "65,536 flows" : "one flow"),
                timer.measure(
                    new TestRunTimer.Subjects(program, baseline, baseline),
                    variations.behind(isIpv6 ? "restore_outer6" : "restore_outer4", "next_xdp"),
                    packet,
                    isServed ? XDP_TX : XDP_PASS));
          }
        }
      }
      for (final boolean isIpv6 : new boolean[] {false, true}) {
        manager.services().put(service(isIpv6, ServiceForwarding.SNAT)).join();
        translate(isIpv6, false, new Subjects(program, ofStack, trivial), variations, timer);
        translate(isIpv6, true, new Subjects(program, ofStack, trivial), variations, timer);
      }
      manager.services().restore(List.of(), Set.of()).join();
    }
    return report;
  }

  private static BpfProgram pinned(Path pin) {
    try (BpfLink link = BpfLink.openPinned(pin).orElseThrow()) {
      return BpfProgram.openById(link.info().programId());
    }
  }

  private record Subjects(BpfProgram balancer, BpfProgram ofStack, BpfObject trivial) {}

  /** Full NAT: of clients that no row before has had, and whose flows no balancer has kept. */
  private void translate(
      boolean isIpv6,
      boolean hasManyFlows,
      Subjects subjects,
      Variations variations,
      TestRunTimer timer) {
    final IpPacket built = packet(isIpv6, true, hasManyFlows ? CLIENTS : OTHER_CLIENT);
    final byte[] packet = built.ack().bytes();
    final byte[] opening = built.syn().bytes();
    final int ports = isIpv6 ? IPV6_PORTS : IPV4_PORTS;
    try (TestRunTimer stack = new TestRunTimer().on(NetworkDevice.index(DEVICE))) {
      for (int i = 0; i < Variations.COUNT; i++) {
        final int port = hasManyFlows ? LEAST_PORT + i % FLOWS : CLIENT_PORT;
        variations.port(i, port);
        opening[ports] = (byte) (port >>> 8);
        opening[ports + 1] = (byte) port;
        if (i < (hasManyFlows ? FLOWS : 1)) {
          stack.once(subjects.ofStack(), opening);
        }
      }
    }
    variations.headers(packet);
    final BpfProgram baseline = subjects.trivial().program("trivial_xdp");
    row(
        (isIpv6 ? "IPv6 " : "IPv4 ")
            + "to a service with SNAT, "
            + (hasManyFlows ? "64,512 flows" : "one flow"),
        timer.measure(
            new TestRunTimer.Subjects(subjects.balancer(), baseline, baseline),
            variations.behind(isIpv6 ? "restore_translated6" : "restore_translated4", "next_xdp"),
            packet,
            XDP_TX));
  }

  private static ServiceEntries service(boolean isIpv6, ServiceForwarding forwarding) {
    final List<Backend> backends = new ArrayList<>();
    for (int i = 1; i <= BACKENDS; i++) {
      final String address = isIpv6 ? "2001:db8:5::" + i : "198.51.100." + i;
      backends.add(new Backend(IpAddress.parse(address), PORT, BackendState.ACTIVE, 1));
    }
    return new ServiceEntries(
        isIpv6 ? 2 : 1,
        IpAddress.parse(frontend(isIpv6)),
        PORT,
        List.of(TCP),
        0,
        Set.of(ServiceScope.OUTSIDE),
        forwarding,
        backends);
  }

  private static String frontend(boolean isIpv6) {
    return isIpv6 ? "2001:db8:80::1" : "203.0.113.80";
  }

  private static IpPacket packet(boolean isIpv6, boolean isServed, int client) {
    final IpPacket packet =
        isIpv6
            ? ipv6("2001:db8:9::" + client, isServed ? frontend(true) : "2001:db8:80::2")
            : ipv4("192.0.2." + client, isServed ? frontend(false) : "203.0.113.81");
    return packet.to(RoutedDevice.mac(DEVICE)).tcp(CLIENT_PORT, PORT);
  }

  private void row(String scenario, TestRunTimer.Figures figures) {
    report.row(
        scenario,
        Report.figure(figures.absoluteNs()),
        Report.figure(figures.trivialNs()),
        rate(figures.absoluteNs()),
        rate(figures.trivialNs()),
        "%.0f %%".formatted(100 * figures.trivialNs() / figures.absoluteNs()));
  }

  private static String rate(double ns) {
    return String.format(Locale.ROOT, "%.1f million", NS_PER_SECOND / ns / 1e6);
  }
}
