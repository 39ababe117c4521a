package agent.datapath.manager;

import static agent.datapath.manager.ManagerTestNode.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.EndpointAttachmentProxy;
import agent.datapath.spec.EndpointSpec;
import agent.datapath.spec.PolicyDelta;
import agent.datapath.spec.PolicyEntry;
import agent.datapath.spec.TcMode;
import agent.maps.layout.PolicyDirection;
import agent.testkit.KernelTest;
import agent.testkit.TcpConnection;
import agent.testkit.TcpEchoServer;
import agent.testkit.UdpEchoServer;
import agent.testkit.UdpStream;
import agent.testkit.Workload;
import agent.types.MacAddress;
import java.io.IOException;
import java.nio.file.Files;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

@KernelTest
class TakeoverKernelTest {
  private static final int TCP = 6;
  private ManagerTestNode node;
  private Workload client;
  private Workload server;
  private EndpointSpec clientSpec;
  private EndpointSpec serverSpec;

  @BeforeEach
  void create() {
    node = new ManagerTestNode();
    client = node.workload(21);
    server = node.workload(22);
    clientSpec = ManagerTestNode.spec(201, client, 2001);
    serverSpec = ManagerTestNode.spec(202, server, 2002);
  }

  @AfterEach
  void remove() throws IOException {
    node.close();
  }

  @ParameterizedTest
  @MethodSource("agent.datapath.manager.ManagerTestNode#tcModes")
  void shouldForwardWithoutLossWhileTheAgentIsKilledAndRestarted(TcMode mode) throws Exception {
    final List<String> before;
    try (TcpEchoServer tcp = TcpEchoServer.start(server.namespace(), 8080);
        UdpEchoServer udp4 = UdpEchoServer.start(server.namespace(), server.ipv4(), 8081);
        UdpEchoServer udp6 = UdpEchoServer.start(server.namespace(), server.ipv6(), 8082);
        DatapathProcess first = DatapathProcess.start(node, mode, List.of(clientSpec, serverSpec));
        TcpConnection connection = TcpConnection.open(client.namespace(), server.ipv4(), 8080);
        UdpStream stream4 = UdpStream.start(client.namespace(), server.ipv4(), 8081, 1);
        UdpStream stream6 = UdpStream.start(client.namespace(), server.ipv6(), 8082, 1)) {
      assertTrue(connection.exchangesMore(50, 5000));
      before = node.pins();
      first.kill();
      assertTrue(connection.exchangesMore(50, 5000), "the programs forward without an agent");
      final DatapathManager second = node.launch(node.context().tcMode(mode));
      try (second) {
        assertEquals(before, node.pins(), "no pin was added or removed");
        assertEquals(Set.of(201, 202), await(second.endpoints().known()));
        ManagerTestNode.attach(second, clientSpec, ManagerTestNode.allowAll());
        ManagerTestNode.attach(second, serverSpec, ManagerTestNode.allowAll());
        assertEquals(List.of(), ManagerTestNode.detachExcept(second, Set.of(201, 202)));
        assertTrue(connection.exchangesMore(50, 5000));
        assertEquals(0, stream4.stopAndCountLost());
        assertEquals(0, stream6.stopAndCountLost());
        assertTrue(stream4.sent() > 100 && stream6.sent() > 100);
        assertEquals(1, tcp.connections());
      }
      assertTrue(connection.exchangesMore(50, 5000), "programs stay attached after close");
      assertTrue(udp4.datagrams() > 0 && udp6.datagrams() > 0);
    }
    assertEquals(before, node.pins());
  }

  @Test
  void shouldKeepEnforcingWithoutAnAgent() throws Exception {
    try (TcpEchoServer tcp = TcpEchoServer.start(server.namespace(), 8080)) {
      try (DatapathManager manager = node.launch(node.context())) {
        ManagerTestNode.attach(manager, clientSpec, ManagerTestNode.allowAll());
        ManagerTestNode.attach(manager, serverSpec, ManagerTestNode.ingressOnly());
      }
      assertEquals(
          TcpConnection.Outcome.UNANSWERED,
          TcpConnection.attempt(client.namespace(), server.ipv4(), 8080, 300));
      try (DatapathManager manager = node.launch(node.context())) {
        final PolicyEntry allow = PolicyEntry.allow(2001, PolicyDirection.INGRESS, TCP, 8080);
        final PolicyDelta change =
            await(manager.policyMaps().synchronize(202, ManagerTestNode.ingressOnly(allow)));
        assertEquals(new PolicyDelta(List.of(allow), List.of()), change);
        assertEquals(
            TcpConnection.Outcome.CONNECTED,
            TcpConnection.attempt(client.namespace(), server.ipv4(), 8080, 2000));
      }
      assertEquals(1, tcp.connections());
    }
  }

  @ParameterizedTest
  @MethodSource("agent.datapath.manager.ManagerTestNode#tcModes")
  void shouldDetachEndpointsOfAPreviousRunThatAreNotKept(TcMode mode) throws Exception {
    try (DatapathManager manager = node.launch(node.context().tcMode(mode))) {
      ManagerTestNode.attach(manager, clientSpec, ManagerTestNode.allowAll());
      ManagerTestNode.attach(manager, serverSpec, ManagerTestNode.allowAll());
    }
    try (DatapathManager manager = node.launch(node.context().tcMode(mode))) {
      assertEquals(List.of(), ManagerTestNode.detachExcept(manager, Set.of(201)));
      assertEquals(Set.of(201), await(manager.endpoints().known()));
      assertTrue(node.pins().stream().noneMatch(pin -> pin.contains("202")));
      assertTrue(manager.maps().find("policy_00202").isEmpty());
      final boolean isLinked = mode == TcMode.TCX;
      assertEquals(isLinked, node.pins().contains("agent/endpoints/201/from_endpoint"));
      assertEquals(!isLinked, hasFilter(clientSpec));
      assertFalse(hasFilter(serverSpec));
    }
  }

  /** Link and filter end with their interface, whatever its name and address are meanwhile. */
  @ParameterizedTest
  @MethodSource("agent.datapath.manager.ManagerTestNode#tcModes")
  void shouldKnowTheInterfaceOfAnEndpointByItsPrograms(TcMode mode) {
    final String name = client.veth().hostInterface();
    final int ifindex = client.veth().hostIfindex();
    try (DatapathManager manager = node.launch(node.context().tcMode(mode))) {
      ManagerTestNode.attach(manager, clientSpec, ManagerTestNode.allowAll());
      node.namespace().ip("link set " + name + " address 02:00:00:00:00:77");
      final EndpointAttachmentProxy.HostInterface changed =
          await(manager.endpoints().hostInterfaceOf(201));
      assertTrue(changed.is(ifindex, MacAddress.parse("02:00:00:00:00:77")));
      node.namespace()
          .ip(
              "link delete " + name,
              "link add " + name + " index " + ifindex + " type veth peer name other0");
      final EndpointAttachmentProxy.HostInterface other =
          await(manager.endpoints().hostInterfaceOf(201));
      assertFalse(other.is(ifindex, MacAddress.parse("02:00:00:00:00:77")));
    }
  }

  private boolean hasFilter(EndpointSpec spec) throws Exception {
    return node.namespace()
        .exec("tc", "filter", "show", "dev", spec.interfaceName(), "ingress")
        .contains("from_endpoint");
  }

  @Test
  @KernelTest(since = "6.6")
  void shouldSwitchBetweenLinksAndFiltersWithoutLosingAPacket() throws Exception {
    try (UdpEchoServer udp = UdpEchoServer.start(server.namespace(), server.ipv4(), 8081)) {
      try (DatapathManager manager = node.launch(node.context().tcMode(TcMode.TCX))) {
        ManagerTestNode.attach(manager, clientSpec, ManagerTestNode.allowAll());
        ManagerTestNode.attach(manager, serverSpec, ManagerTestNode.allowAll());
      }
      try (UdpStream stream = UdpStream.start(client.namespace(), server.ipv4(), 8081, 1)) {
        for (final TcMode mode : List.of(TcMode.CLSACT, TcMode.TCX)) {
          try (DatapathManager manager = node.launch(node.context().tcMode(mode))) {
            ManagerTestNode.attach(manager, clientSpec, ManagerTestNode.allowAll());
            ManagerTestNode.attach(manager, serverSpec, ManagerTestNode.allowAll());
          }
          final boolean isPinned = node.pins().contains("agent/endpoints/201/from_endpoint");
          assertEquals(mode == TcMode.TCX, isPinned);
          assertEquals(mode == TcMode.CLSACT, hasFilter(clientSpec));
        }
        assertEquals(0, stream.stopAndCountLost());
        assertTrue(stream.sent() > 50);
      }
      assertTrue(udp.datagrams() > 50);
    }
  }

  @Test
  void shouldReplaceOnlyThePinnedMapOfAnotherSize() {
    final List<String> before;
    try (DatapathManager manager = node.launch(node.context())) {
      ManagerTestNode.attach(manager, clientSpec, ManagerTestNode.allowAll());
      before = node.pins();
    }
    try (DatapathManager manager = node.launch(node.context().conntrackTcpMax(4096))) {
      assertEquals(
          4096, manager.maps().find("conntrack4_tcp").orElseThrow().description().maxEntries());
      assertEquals(
          8192, manager.maps().find("conntrack4_any").orElseThrow().description().maxEntries());
      manager.endpointsRestored();
      for (final String family : List.of("4", "6")) {
        final String pin = "agent/maps/conntrack%s_tcp_v2_resized".formatted(family);
        while (Files.exists(node.bpfRoot().resolve(pin))) {
          await(manager.endpoints().known());
        }
      }
      assertEquals(before, node.pins());
      assertFalse(before.isEmpty());
    }
  }
}
