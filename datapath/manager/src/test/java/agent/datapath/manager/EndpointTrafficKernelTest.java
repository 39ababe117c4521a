package agent.datapath.manager;

import static agent.datapath.manager.ManagerTestNode.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.PolicyDelta;
import agent.datapath.spec.PolicyEntry;
import agent.datapath.spec.PolicyVerdict;
import agent.datapath.spec.TcMode;
import agent.maps.layout.DropReason;
import agent.maps.layout.MetricsDirection;
import agent.maps.layout.PolicyDirection;
import agent.testkit.KernelTest;
import agent.testkit.Ping;
import agent.testkit.TcpConnection;
import agent.testkit.TcpEchoServer;
import agent.testkit.UdpEchoServer;
import agent.testkit.UdpStream;
import agent.testkit.Workload;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

@KernelTest
class EndpointTrafficKernelTest {
  private static final int CLIENT = 101;
  private static final int SERVER = 102;
  private static final int CLIENT_IDENTITY = 1001;
  private static final int SERVER_IDENTITY = 1002;
  private static final int TCP = 6;
  private static final int UDP = 17;

  private ManagerTestNode node;
  private Workload client;
  private Workload server;
  private DatapathManager manager;

  @BeforeEach
  void create() {
    node = new ManagerTestNode();
    client = node.workload(11);
    server = node.workload(12);
  }

  @AfterEach
  void remove() throws IOException {
    if (manager != null) {
      manager.close();
    }
    node.close();
  }

  private void launch(TcMode mode, List<PolicyEntry> serverPolicy) {
    manager = node.launch(node.context().tcMode(mode));
    ManagerTestNode.attach(
        manager, ManagerTestNode.spec(CLIENT, client, CLIENT_IDENTITY), ManagerTestNode.allowAll());
    ManagerTestNode.attach(
        manager, ManagerTestNode.spec(SERVER, server, SERVER_IDENTITY), serverPolicy);
  }

  @ParameterizedTest
  @MethodSource("agent.datapath.manager.ManagerTestNode#tcModes")
  void shouldForwardTcpUdpAndEchoOfBothFamiliesWithoutEnforcement(TcMode mode) throws Exception {
    launch(mode, ManagerTestNode.allowAll());
    assertEquals(mode, manager.status().tcMode());
    assertEquals(2, manager.status().endpoints());
    for (final String address : List.of(server.ipv4(), server.ipv6())) {
      try (TcpEchoServer tcp = TcpEchoServer.start(server.namespace(), 8080);
          UdpEchoServer udp = UdpEchoServer.start(server.namespace(), address, 8081);
          TcpConnection connection = TcpConnection.open(client.namespace(), address, 8080)) {
        assertTrue(connection.exchangesMore(50, 5000));
        assertTrue(UdpStream.isAnswered(client.namespace(), address, 8081, 2000));
        assertTrue(Ping.isAnswered(client.namespace(), address, 2000));
        assertTrue(
            Ping.isAnswered(node.namespace(), address, 2000), "from the network stack of the node");
        assertTrue(tcp.bytes() > 0 && udp.datagrams() > 0);
      }
    }
    assertTrue(Ping.isAnswered(client.namespace(), ManagerTestNode.GATEWAY4, 2000));
    assertTrue(Ping.isAnswered(client.namespace(), ManagerTestNode.GATEWAY6, 2000));
  }

  @ParameterizedTest
  @MethodSource("agent.datapath.manager.ManagerTestNode#tcModes")
  void shouldForwardOnlyTheAllowedPortsAndCountDrops(TcMode mode) throws Exception {
    launch(
        mode,
        ManagerTestNode.ingressOnly(
            PolicyEntry.allow(CLIENT_IDENTITY, PolicyDirection.INGRESS, TCP, 8080),
            PolicyEntry.allow(CLIENT_IDENTITY, PolicyDirection.INGRESS, UDP, 8081)));
    for (final String address : List.of(server.ipv4(), server.ipv6())) {
      try (TcpEchoServer allowed = TcpEchoServer.start(server.namespace(), 8080);
          TcpEchoServer denied = TcpEchoServer.start(server.namespace(), 8090);
          UdpEchoServer udp = UdpEchoServer.start(server.namespace(), address, 8081);
          UdpEchoServer deniedUdp = UdpEchoServer.start(server.namespace(), address, 8091)) {
        assertEquals(
            TcpConnection.Outcome.CONNECTED,
            TcpConnection.attempt(client.namespace(), address, 8080, 2000));
        final long before = denials();
        assertEquals(
            TcpConnection.Outcome.UNANSWERED,
            TcpConnection.attempt(client.namespace(), address, 8090, 400));
        assertTrue(denials() > before, "drops by policy are counted");
        assertTrue(UdpStream.isAnswered(client.namespace(), address, 8081, 2000));
        assertFalse(UdpStream.isAnswered(client.namespace(), address, 8091, 300));
        assertFalse(Ping.isAnswered(client.namespace(), address, 300));
        assertEquals(1, allowed.connections());
        assertEquals(0, denied.connections());
        assertEquals(1, udp.datagrams());
        assertEquals(0, deniedUdp.datagrams());
      }
    }
  }

  @ParameterizedTest
  @MethodSource("agent.datapath.manager.ManagerTestNode#tcModes")
  void shouldInterruptAnEstablishedConnectionWhilePolicyDeniesIt(TcMode mode) throws Exception {
    final PolicyEntry allow =
        PolicyEntry.allow(CLIENT_IDENTITY, PolicyDirection.INGRESS, TCP, 8080);
    launch(mode, ManagerTestNode.ingressOnly(allow));
    for (final String address : List.of(server.ipv4(), server.ipv6())) {
      try (TcpEchoServer tcp = TcpEchoServer.start(server.namespace(), 8080);
          TcpConnection connection = TcpConnection.open(client.namespace(), address, 8080)) {
        assertTrue(connection.exchangesMore(50, 5000));
        await(ManagerTestNode.apply(manager, SERVER, new PolicyDelta(List.of(), List.of(allow))));
        assertTrue(connection.isCutFor(400));
        assertEquals(
            TcpConnection.Outcome.UNANSWERED,
            TcpConnection.attempt(client.namespace(), address, 8080, 300));
        await(ManagerTestNode.apply(manager, SERVER, new PolicyDelta(List.of(allow), List.of())));
        assertTrue(
            connection.exchangesMore(20, 10_000), "the connection was interrupted, not reset");
        await(
            ManagerTestNode.apply(
                manager,
                SERVER,
                new PolicyDelta(List.of(with(allow, PolicyVerdict.DENY)), List.of())));
        assertTrue(connection.isCutFor(400), "a deny entry interrupts the connection");
        await(ManagerTestNode.apply(manager, SERVER, new PolicyDelta(List.of(allow), List.of())));
        assertEquals(1, tcp.connections());
      }
    }
  }

  @ParameterizedTest
  @MethodSource("agent.datapath.manager.ManagerTestNode#tcModes")
  void shouldReevaluatePolicyWhenTheIdentityOfThePeerChanges(TcMode mode) throws Exception {
    launch(
        mode,
        ManagerTestNode.ingressOnly(
            PolicyEntry.allow(CLIENT_IDENTITY, PolicyDirection.INGRESS, TCP, 8080)));
    try (TcpEchoServer tcp = TcpEchoServer.start(server.namespace(), 8080);
        TcpConnection connection = TcpConnection.open(client.namespace(), server.ipv4(), 8080)) {
      assertTrue(connection.exchangesMore(20, 5000));
      await(manager.endpoints().setIdentity(CLIENT, 4711));
      assertTrue(connection.isCutFor(300));
      await(manager.endpoints().setIdentity(CLIENT, CLIENT_IDENTITY));
      assertTrue(connection.exchangesMore(20, 10_000));
      assertEquals(1, tcp.connections());
    }
  }

  @ParameterizedTest
  @MethodSource("agent.datapath.manager.ManagerTestNode#tcModes")
  void shouldReplaceProgramsWithoutLosingAPacket(TcMode mode) throws Exception {
    launch(mode, ManagerTestNode.allowAll());
    try (TcpEchoServer tcp = TcpEchoServer.start(server.namespace(), 8080);
        UdpEchoServer udp = UdpEchoServer.start(server.namespace(), server.ipv4(), 8081);
        TcpConnection connection = TcpConnection.open(client.namespace(), server.ipv4(), 8080);
        UdpStream stream = UdpStream.start(client.namespace(), server.ipv4(), 8081, 1)) {
      assertTrue(connection.exchangesMore(20, 5000));
      for (int i = 0; i < 10; i++) {
        await(manager.endpoints().attach(ManagerTestNode.spec(SERVER, server, SERVER_IDENTITY)));
        await(manager.endpoints().attach(ManagerTestNode.spec(CLIENT, client, CLIENT_IDENTITY)));
      }
      assertTrue(connection.exchangesMore(20, 5000));
      assertEquals(0, stream.stopAndCountLost());
      assertEquals(1, tcp.connections());
      assertTrue(udp.datagrams() >= stream.sent());
    }
  }

  private long denials() {
    long denials = 0;
    for (final MetricsDirection direction : MetricsDirection.values()) {
      denials += manager.metrics().packets(direction.number(), DropReason.POLICY_DENIED.number());
    }
    return denials;
  }

  /** Returns the entry with another verdict. */
  private static PolicyEntry with(PolicyEntry entry, PolicyVerdict verdict) {
    final PolicyEntry.Key key = entry.key();
    return new PolicyEntry(
        key.identity(), key.direction(), key.protocol(), key.port(), key.prefixLength(), verdict);
  }
}
