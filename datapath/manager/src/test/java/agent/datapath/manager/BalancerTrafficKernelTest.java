package agent.datapath.manager;

import static agent.datapath.manager.ManagerTestNode.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.BpfLink;
import agent.bindings.BpfObject;
import agent.bindings.XdpMode;
import agent.datapath.manager.guard.Repairs.Kind;
import agent.datapath.manager.spec.Balancing;
import agent.datapath.manager.spec.DatapathContext;
import agent.datapath.manager.spec.Prefilter.PrefilterMode;
import agent.datapath.manager.spec.ServiceEntries;
import agent.maps.layout.BackendState;
import agent.maps.layout.DropReason;
import agent.maps.layout.MetricsDirection;
import agent.maps.layout.ServiceScope;
import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.TcpConnection;
import agent.testkit.TcpEchoServer;
import agent.testkit.TestControlGroup;
import agent.testkit.VethPair;
import agent.types.AddressPair;
import agent.types.IpAddress;
import agent.types.Prefix;
import agent.types.Refusal;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Connections of a client through the load balancer of a node to a backend, which answers by a link
 * of its own. The backend has the address of the service on its loopback device, and takes the
 * outer header of what it receives away.
 */
@KernelTest
class BalancerTrafficKernelTest {
  private static final String DEVICE = "up0";
  private static final String BACKEND_DEVICE = "be0";
  private static final int PORT = 80;
  private static final int BYTES = 200_000;
  private static final String VIP4 = "203.0.113.1";
  private static final String VIP6 = "2001:db8:aaaa::1";
  private static final String CLIENT4 = "192.0.2.2";
  private static final String CLIENT6 = "2001:db8::2";

  private ManagerTestNode node;
  private NetworkNamespace client;
  private NetworkNamespace backend;
  private TestControlGroup group;
  private TcpEchoServer server;
  private final List<BpfLink> ends = new ArrayList<>();

  @BeforeEach
  void create() throws Exception {
    node = new ManagerTestNode();
    group = TestControlGroup.create();
    client = NetworkNamespace.create("cl");
    backend = NetworkNamespace.create("be");
    link(node.namespace(), DEVICE, "192.0.2.1", "2001:db8::1", client, CLIENT4, CLIENT6);
    link(
        node.namespace(),
        BACKEND_DEVICE,
        "198.51.100.1",
        "2001:db8:1::1",
        backend,
        "198.51.100.2",
        "2001:db8:1::2");
    VethPair.create(client, "direct", backend, "direct");
    address(client, "direct", "10.8.0.1", "fd08::1");
    address(backend, "direct", "10.8.0.2", "fd08::2");
    client.ip("route add " + VIP4 + " via 192.0.2.1");
    client.ip("-6 route add " + VIP6 + " via 2001:db8::1");
    backend.ip("route add " + CLIENT4 + " via 10.8.0.1");
    backend.ip("-6 route add " + CLIENT6 + " via fd08::1");
    backend.ip("link set lo up");
    backend.ip("address add " + VIP4 + "/32 dev lo");
    backend.ip("-6 address add " + VIP6 + "/128 dev lo nodad");
    client.completeChecksums("net0");
    server = TcpEchoServer.start(backend, PORT);
    attach(backend, "decapsulate");
    attach(client, "trivial_xdp"); // or the device of the node could not send to it from XDP
  }

  private static void link(
      NetworkNamespace from,
      String device,
      String own4,
      String own6,
      NetworkNamespace to,
      String other4,
      String other6)
      throws Exception {
    VethPair.create(from, device, to, "net0");
    address(from, device, own4, own6);
    address(to, "net0", other4, other6);
  }

  private static void address(NetworkNamespace namespace, String device, String ipv4, String ipv6)
      throws Exception {
    namespace.ip("address add " + ipv4 + "/24 dev " + device);
    namespace.ip("-6 address add " + ipv6 + "/64 dev " + device + " nodad");
    final String linkLocal = "fe80::" + ipv6.substring(ipv6.lastIndexOf(':') + 1);
    namespace.ip("-6 address add " + linkLocal + "/64 dev " + device + " nodad"); // for ND
    for (final String each : List.of("all", device)) { // answers come by another link
      namespace.run(
          () -> Files.writeString(Path.of("/proc/sys/net/ipv4/conf", each, "rp_filter"), "0"));
    }
  }

  private void attach(NetworkNamespace end, String program) throws Exception {
    try (InputStream in = getClass().getResourceAsStream("/bpf/trivial.bpf.o");
        BpfObject object = BpfObject.open(in.readAllBytes(), "trivial")) {
      object.load();
      final int ifindex = VethPair.index(end, "net0");
      ends.add(end.run(() -> BpfLink.createXdp(object.program(program), ifindex, XdpMode.NATIVE)));
    }
  }

  @AfterEach
  void remove() throws Exception {
    ends.forEach(BpfLink::close);
    server.close();
    client.close();
    backend.close();
    node.close();
    group.close();
  }

  private DatapathContext context() {
    final AddressPair sources =
        new AddressPair(IpAddress.parse("192.0.2.1"), IpAddress.parse("2001:db8::1"));
    return node.context().cgroupRoot(group.path()).balancing(new Balancing(DEVICE, sources));
  }

  private DatapathManager launch(DatapathContext context) {
    final DatapathManager manager = node.launch(context);
    await(
        manager
            .services()
            .restore(
                List.of(service(1, VIP4, "198.51.100.2"), service(2, VIP6, "2001:db8:1::2")),
                Set.of()));
    return manager;
  }

  private static ServiceEntries service(int id, String frontend, String backend) {
    return new ServiceEntries(
        id,
        IpAddress.parse(frontend),
        PORT,
        List.of(6),
        0,
        Set.of(ServiceScope.values()),
        List.of(
            new ServiceEntries.Backend(IpAddress.parse(backend), PORT, BackendState.ACTIVE, 1)));
  }

  private static long forwarded(DatapathManager manager) {
    return packets(manager, DropReason.NONE);
  }

  private static long packets(DatapathManager manager, DropReason reason) {
    return manager.metrics().packets(MetricsDirection.NETWORK.number(), reason.number());
  }

  private String xdp(String device) {
    return node.namespace().exec("ip", "link", "show", "dev", device);
  }

  @ParameterizedTest
  @ValueSource(strings = {VIP4, VIP6})
  void shouldConnectToABackendThatAnswersTheClientItself(String frontend) throws Exception {
    try (DatapathManager manager = launch(context())) {
      assertEquals(PrefilterMode.NATIVE, manager.status().balancerMode());
      assertTrue(xdp(DEVICE).contains(" xdp "), xdp(DEVICE));
      try (TcpConnection connection = TcpConnection.open(client, frontend, PORT)) {
        assertTrue(connection.exchangesMore(100, 5000));
        assertEquals(1, server.connections());
        assertTrue(forwarded(manager) > 100);
      }
    }
  }

  /** The client sends packets that do not fit any more, and learns which do. */
  @ParameterizedTest
  @ValueSource(strings = {VIP4, VIP6})
  void shouldTellTheClientWhichPacketsFit(String frontend) throws Exception {
    try (DatapathManager manager = launch(context())) {
      final boolean isIpv4 = frontend.equals(VIP4);
      client.run(
          () -> {
            try (Socket socket = new Socket()) {
              socket.connect(new InetSocketAddress(frontend, PORT), 5000);
              socket.setSoTimeout(10_000);
              final Thread writer =
                  Thread.ofPlatform()
                      .start(
                          () -> {
                            try {
                              socket.getOutputStream().write(new byte[BYTES]);
                            } catch (java.io.IOException failure) {
                              throw new java.io.UncheckedIOException(failure);
                            }
                          });
              assertEquals(BYTES, socket.getInputStream().readNBytes(BYTES).length);
              writer.join();
            }
            return null;
          });
      assertTrue(packets(manager, DropReason.NOT_FORWARDABLE) > 0);
      final String route = client.exec("ip", isIpv4 ? "-4" : "-6", "route", "get", frontend);
      assertTrue(route.contains("mtu " + (isIpv4 ? 1480 : 1460)), route);
    }
  }

  @Test
  void shouldFilterBeforeItBalancesOnOneDevice() throws Exception {
    for (final PrefilterMode mode : PrefilterMode.values()) {
      try (DatapathManager manager = launch(context().prefilterDevice(DEVICE).prefilterMode(mode));
          TcpConnection connection = TcpConnection.open(client, VIP4, PORT)) {
        assertEquals(mode, manager.status().balancerMode());
        assertEquals(mode, manager.status().prefilterMode());
        assertTrue(connection.exchangesMore(10, 5000));
        manager.prefilter().add(OptionalLong.empty(), List.of(Prefix.parse(CLIENT4 + "/32")));
        assertTrue(connection.isCutFor(500));
        manager.prefilter().remove(OptionalLong.empty(), List.of(Prefix.parse(CLIENT4 + "/32")));
        assertTrue(connection.exchangesMore(10, 5000));
      }
    }
  }

  private BpfLink pinned(String name) {
    return BpfLink.openPinned(node.bpfRoot().resolve("agent/devices").resolve(DEVICE).resolve(name))
        .orElseThrow();
  }

  @Test
  void shouldTakeItsLinkAndItsFlowsOverAndLeaveNothingWithoutTheOption() throws Exception {
    final DatapathManager first = launch(context());
    try (TcpConnection connection = TcpConnection.open(client, VIP4, PORT);
        BpfLink before = pinned("balancer")) {
      final int program = before.info().programId();
      first.close();
      assertTrue(connection.exchangesMore(10, 5000), "without an agent");
      try (DatapathManager second = launch(context())) {
        assertTrue(connection.exchangesMore(10, 5000));
        assertFalse(before.info().programId() == program);
        assertEquals(VethPair.index(node.namespace(), DEVICE), before.info().ifindex());
        assertEquals(1, second.maps().find("balancer_flows").orElseThrow().countEntries());
      }
      try (DatapathManager third = node.launch(node.context().cgroupRoot(group.path()))) {
        assertEquals(null, third.status().balancerMode());
        assertEquals(0, before.info().ifindex());
        assertFalse(node.pins().stream().anyMatch(pin -> pin.contains("balancer")));
        await(third.services().restore(List.of(), Set.of()));
      }
    }
  }

  @Test
  void shouldBeAttachedAgainWhereItWasDetached() throws Exception {
    try (DatapathManager manager = launch(context())) {
      final GuardWatch watch = new GuardWatch(manager);
      final long repairs = watch.repairs(Kind.LINK);
      try (BpfLink link = pinned("balancer")) {
        link.detach();
      }
      watch.awaitRepair(Kind.LINK, repairs + 1);
      assertTrue(xdp(DEVICE).contains(" xdp "), xdp(DEVICE));
      try (TcpConnection connection = TcpConnection.open(client, VIP6, PORT)) {
        assertTrue(connection.exchangesMore(10, 5000));
      }
    }
  }

  @Test
  void shouldRefuseADeviceThatDoesNotExist() {
    final DatapathContext context =
        node.context()
            .cgroupRoot(group.path())
            .balancing(new Balancing("absent0", AddressPair.NONE));
    final Refusal refusal = assertThrows(Refusal.class, () -> node.launch(context));
    assertTrue(refusal.getMessage().contains("there is no interface 'absent0'"));
  }
}
