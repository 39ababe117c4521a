package agent.datapath.manager;

import static agent.datapath.manager.DirectReturnNetwork.BACKEND4;
import static agent.datapath.manager.DirectReturnNetwork.BACKEND6;
import static agent.datapath.manager.DirectReturnNetwork.CLIENT4;
import static agent.datapath.manager.DirectReturnNetwork.DEVICE;
import static agent.datapath.manager.DirectReturnNetwork.PORT;
import static agent.datapath.manager.DirectReturnNetwork.VIP4;
import static agent.datapath.manager.DirectReturnNetwork.VIP6;
import static agent.datapath.manager.ManagerTestNode.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.bpf.BpfLink;
import agent.conductor.Repairs.Kind;
import agent.datapath.spec.Balancing;
import agent.datapath.spec.DatapathContext;
import agent.datapath.spec.Prefilter.PrefilterMode;
import agent.datapath.spec.ServiceEntries;
import agent.maps.layout.BackendState;
import agent.maps.layout.DropReason;
import agent.maps.layout.MetricsDirection;
import agent.maps.layout.ServiceScope;
import agent.testkit.ConnectionCheck;
import agent.testkit.KernelTest;
import agent.testkit.TcpConnection;
import agent.testkit.VethPair;
import agent.types.AddressPair;
import agent.types.IpAddress;
import agent.types.Prefix;
import agent.types.Refusal;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Connections of a client through the load balancer of a node to a backend, which answers by a link
 * of its own.
 */
@KernelTest
class BalancerTrafficKernelTest {
  private static final int BYTES = 200_000;

  private DirectReturnNetwork network;

  @BeforeEach
  void create() throws Exception {
    network = new DirectReturnNetwork();
  }

  @AfterEach
  void remove() throws Exception {
    network.close();
  }

  private DatapathContext context() {
    final AddressPair sources =
        new AddressPair(IpAddress.parse("192.0.2.1"), IpAddress.parse("2001:db8::1"));
    return network
        .node
        .context()
        .cgroupRoot(network.group.path())
        .balancing(new Balancing(DEVICE, sources));
  }

  private DatapathManager launch(DatapathContext context) {
    final DatapathManager manager = network.node.launch(context);
    await(
        manager
            .services()
            .restore(List.of(service(1, VIP4, BACKEND4), service(2, VIP6, BACKEND6)), Set.of()));
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
    return network.node.namespace().exec("ip", "link", "show", "dev", device);
  }

  @ParameterizedTest
  @ValueSource(strings = {VIP4, VIP6})
  void shouldConnectToABackendThatAnswersTheClientItself(String frontend) throws Exception {
    try (DatapathManager manager = launch(context())) {
      assertEquals(PrefilterMode.NATIVE, manager.status().balancerMode());
      assertTrue(xdp(DEVICE).contains(" xdp "), xdp(DEVICE));
      ConnectionCheck.expect(true, network.client, network.backend, frontend, PORT);
      try (TcpConnection connection = TcpConnection.open(network.client, frontend, PORT)) {
        assertTrue(connection.exchangesMore(100, 5000));
        assertEquals(2, network.server.connections());
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
      network.client.run(
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
      final String route =
          network.client.exec("ip", isIpv4 ? "-4" : "-6", "route", "get", frontend);
      assertTrue(route.contains("mtu " + (isIpv4 ? 1480 : 1460)), route);
    }
  }

  @Test
  void shouldFilterBeforeItBalancesOnOneDevice() throws Exception {
    for (final PrefilterMode mode : PrefilterMode.values()) {
      try (DatapathManager manager = launch(context().prefilterDevice(DEVICE).prefilterMode(mode));
          TcpConnection connection = TcpConnection.open(network.client, VIP4, PORT)) {
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
    return BpfLink.openPinned(
            network.node.bpfRoot().resolve("agent/devices").resolve(DEVICE).resolve(name))
        .orElseThrow();
  }

  @Test
  void shouldTakeItsLinkAndItsFlowsOverAndLeaveNothingWithoutTheOption() throws Exception {
    final DatapathManager first = launch(context());
    try (TcpConnection connection = TcpConnection.open(network.client, VIP4, PORT);
        BpfLink before = pinned("balancer")) {
      final int program = before.info().programId();
      first.close();
      assertTrue(connection.exchangesMore(10, 5000), "without an agent");
      try (DatapathManager second = launch(context())) {
        assertTrue(connection.exchangesMore(10, 5000));
        assertFalse(before.info().programId() == program);
        assertEquals(VethPair.index(network.node.namespace(), DEVICE), before.info().ifindex());
        assertEquals(1, second.maps().find("balancer_flows").orElseThrow().countEntries());
      }
      try (DatapathManager third =
          network.node.launch(network.node.context().cgroupRoot(network.group.path()))) {
        assertEquals(null, third.status().balancerMode());
        assertEquals(0, before.info().ifindex());
        assertFalse(network.node.pins().stream().anyMatch(pin -> pin.contains("balancer")));
        await(third.services().restore(List.of(), Set.of()));
      }
    }
  }

  /** It takes frames to the device's own address only. */
  @Test
  void shouldBalanceFramesToADeviceWhoseAddressHasChanged() throws Exception {
    try (DatapathManager manager = launch(context());
        BpfLink link = pinned("balancer")) {
      final int program = link.info().programId();
      network.node.namespace().ip("link set " + DEVICE + " address 02:00:00:00:00:99");
      final long endNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
      while (link.info().programId() == program) {
        assertTrue(System.nanoTime() - endNs < 0, "the program has the former address");
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(10));
      }
      network.client.exec("ip", "neigh", "flush", "all");
      for (final String frontend : List.of(VIP4, VIP6)) {
        final long before = forwarded(manager);
        try (TcpConnection connection = TcpConnection.open(network.client, frontend, PORT)) {
          assertTrue(connection.exchangesMore(10, 5000));
        }
        assertTrue(forwarded(manager) > before + 10, "left to the stack");
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
      try (TcpConnection connection = TcpConnection.open(network.client, VIP6, PORT)) {
        assertTrue(connection.exchangesMore(10, 5000));
      }
    }
  }

  @Test
  void shouldRefuseADeviceThatDoesNotExist() {
    final DatapathContext context =
        network
            .node
            .context()
            .cgroupRoot(network.group.path())
            .balancing(new Balancing("absent0", AddressPair.NONE));
    final Refusal refusal = assertThrows(Refusal.class, () -> network.node.launch(context));
    assertTrue(refusal.getMessage().contains("interface 'absent0' does not exist"));
  }
}
