package agent.datapath.manager;

import static agent.datapath.manager.ManagerTestNode.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.EndpointSpec;
import agent.datapath.spec.TcMode;
import agent.maps.layout.DropReason;
import agent.maps.layout.MetricsDirection;
import agent.testkit.KernelTest;
import agent.testkit.Ping;
import agent.testkit.TcpConnection;
import agent.testkit.TcpEchoServer;
import agent.testkit.UdpEchoServer;
import agent.testkit.UdpStream;
import agent.testkit.Workload;
import agent.types.OperationException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A closed endpoint drops all packets until it is attached, and is then equal to one that was not
 * closed.
 */
@KernelTest
class ClosedEndpointKernelTest {
  private static final int ID = 41;
  private static final int IDENTITY = 1001;
  private static final int LONGEST_MS = 5000;

  private ManagerTestNode node;
  private Workload workload;
  private Workload peer;

  @BeforeEach
  void create() {
    node = new ManagerTestNode();
    workload = node.workload(ID);
    peer = node.workload(ID + 1);
  }

  @AfterEach
  void remove() throws IOException {
    node.close();
  }

  private EndpointSpec spec() {
    return ManagerTestNode.spec(ID, workload, IDENTITY);
  }

  private boolean isReached() throws Exception {
    return Ping.isAnswered(node.namespace(), workload.ipv4(), 300);
  }

  private static void awaitDroppedPackets(DatapathManager manager) throws InterruptedException {
    final long end = System.nanoTime() + LONGEST_MS * 1_000_000L;
    while (droppedPackets(manager) == 0 && System.nanoTime() < end) {
      Thread.sleep(20);
    }
  }

  private static long droppedPackets(DatapathManager manager) {
    long packets = 0;
    for (final MetricsDirection direction : MetricsDirection.values()) {
      packets += manager.metrics().packets(direction.number(), DropReason.NO_ENDPOINT.number());
    }
    return packets;
  }

  private void close(DatapathManager manager) throws Exception {
    await(manager.endpoints().close(ID, spec().ifindex(), spec().interfaceName()));
  }

  @ParameterizedTest
  @MethodSource("agent.datapath.manager.ManagerTestNode#tcModes")
  void shouldDropAllPacketsOfAClosedEndpointUntilItIsAttached(TcMode mode) throws Exception {
    try (DatapathManager manager = node.launch(node.context().tcMode(mode))) {
      close(manager);
      await(manager.policyMaps().synchronize(ID, ManagerTestNode.allowAll()));
      final List<String> closed = pinsOfLinks();
      for (int i = 0; i < 20 && droppedPackets(manager) == 0; i++) {
        isReached();
      }
      awaitDroppedPackets(manager);
      assertTrue(droppedPackets(manager) > 0, "dropped packets are counted");
      assertFalse(isReached());
      await(manager.endpoints().attach(spec()));
      // the stack of the node retries the neighbour lookup once per second
      assertTrue(Ping.isAnswered(node.namespace(), workload.ipv4(), LONGEST_MS));
      assertEquals(closed, pinsOfLinks());
      assertEquals(mode == TcMode.TCX ? 2 : 0, closed.size());
      assertEquals(List.of(), ManagerTestNode.detach(manager, ID));
      assertEquals(List.of(), pinsOfLinks());
    }
  }

  /** A ping shows one direction only: without its reply nothing tells where it was dropped. */
  @ParameterizedTest
  @MethodSource("agent.datapath.manager.ManagerTestNode#tcModes")
  void shouldDropDatagramsOfEachDirectionUntilItIsAttached(TcMode mode) throws Exception {
    try (DatapathManager manager = node.launch(node.context().tcMode(mode));
        UdpEchoServer outside =
            UdpEchoServer.start(node.namespace(), ManagerTestNode.GATEWAY4, 8082);
        UdpEchoServer inside = UdpEchoServer.start(workload.namespace(), workload.ipv4(), 8083)) {
      final EndpointSpec spec = spec();
      await(manager.endpoints().close(ID, spec.ifindex(), spec.interfaceName()));
      await(manager.policyMaps().synchronize(ID, ManagerTestNode.allowAll()));
      workload
          .namespace()
          .exec(
              "ip",
              "neigh",
              "replace",
              ManagerTestNode.GATEWAY4,
              "lladdr",
              workload.veth().hostMac(),
              "dev",
              "eth0",
              "nud",
              "permanent");
      try (UdpStream out =
              UdpStream.start(workload.namespace(), ManagerTestNode.GATEWAY4, 8082, 5);
          UdpStream in = UdpStream.start(node.namespace(), workload.ipv4(), 8083, 5)) {
        awaitDropped(manager, MetricsDirection.EGRESS, 20);
        awaitDropped(manager, MetricsDirection.INGRESS, 20);
        assertEquals(0, outside.datagrams(), "from the workload");
        assertEquals(0, inside.datagrams(), "to the workload");
        await(manager.endpoints().attach(spec()));
        ManagerTestNode.putAddresses(manager, spec());
        awaitDatagrams(outside, 20);
        awaitDatagrams(inside, 20);
        assertTrue(outside.datagrams() <= out.sent() && inside.datagrams() <= in.sent());
      }
      assertEquals(List.of(), ManagerTestNode.detach(manager, ID));
    }
  }

  private static void awaitDropped(
      DatapathManager manager, MetricsDirection direction, long packets)
      throws InterruptedException {
    final int reason = DropReason.NO_ENDPOINT.number();
    final long end = System.nanoTime() + LONGEST_MS * 4_000_000L;
    while (manager.metrics().packets(direction.number(), reason) < packets
        && System.nanoTime() < end) {
      Thread.sleep(20);
    }
    assertTrue(manager.metrics().packets(direction.number(), reason) >= packets, direction::name);
  }

  private static void awaitDatagrams(UdpEchoServer server, long datagrams)
      throws InterruptedException {
    final long end = System.nanoTime() + LONGEST_MS * 4_000_000L;
    while (server.datagrams() < datagrams && System.nanoTime() < end) {
      Thread.sleep(20);
    }
    assertTrue(server.datagrams() >= datagrams);
  }

  @ParameterizedTest
  @MethodSource("agent.datapath.manager.ManagerTestNode#tcModes")
  void shouldDetachTheProgramsOfAClosedEndpointThatWasNeverAttached(TcMode mode) throws Exception {
    try (DatapathManager manager = node.launch(node.context().tcMode(mode))) {
      close(manager);
      assertEquals(mode == TcMode.TCX ? 2 : 0, pinsOfLinks().size());
      assertEquals(mode == TcMode.CLSACT ? 2 : 0, filters());
      assertEquals(List.of(), ManagerTestNode.detach(manager, ID));
      assertEquals(List.of(), pinsOfLinks());
      assertEquals(0, filters());
    }
  }

  /** Returns how many filters of the workload's device run a program. */
  private long filters() throws Exception {
    final String device = spec().interfaceName();
    long count = 0;
    for (final String side : List.of("ingress", "egress")) {
      count +=
          node.namespace()
              .exec("tc", "filter", "show", "dev", device, side)
              .lines()
              .filter(line -> line.contains("direct-action"))
              .count();
    }
    return count;
  }

  /** The pinned map in the place of the policy map's pin makes the attachment fail. */
  @ParameterizedTest
  @MethodSource("agent.datapath.manager.ManagerTestNode#tcModes")
  void shouldStayClosedWhenTheAttachmentFails(TcMode mode) throws Exception {
    try (DatapathManager manager = node.launch(node.context().tcMode(mode))) {
      final Path blocked = node.bpfRoot().resolve("agent/maps/policy_00041");
      Files.createDirectory(blocked);
      close(manager);
      final List<String> closed = pinsOfLinks();
      assertThrows(OperationException.class, () -> await(manager.endpoints().attach(spec())));
      assertFalse(isReached());
      assertEquals(closed, pinsOfLinks());
      Files.delete(blocked);
      await(manager.policyMaps().synchronize(ID, ManagerTestNode.allowAll()));
      await(manager.endpoints().attach(spec()));
      assertTrue(Ping.isAnswered(node.namespace(), workload.ipv4(), LONGEST_MS));
    }
  }

  @Test
  void shouldRememberRemovalsInTheBpfFileSystem() throws Exception {
    try (DatapathManager manager = node.launch(node.context())) {
      await(manager.endpoints().rememberRemoval(ID));
      await(manager.endpoints().rememberRemoval(ID + 1));
      await(manager.endpoints().forgetRemoval(ID + 1));
      await(manager.endpoints().forgetRemoval(ID + 1));
    }
    try (DatapathManager manager = node.launch(node.context())) {
      assertEquals(Set.of(ID), await(manager.endpoints().rememberedRemovals()));
      assertEquals(Set.of(), await(manager.endpoints().known()));
    }
  }

  @ParameterizedTest
  @MethodSource("agent.datapath.manager.ManagerTestNode#tcModes")
  void shouldNotInterruptTheTrafficOfAnAttachedEndpoint(TcMode mode) throws Exception {
    try (DatapathManager manager = node.launch(node.context().tcMode(mode))) {
      ManagerTestNode.attach(manager, spec(), ManagerTestNode.allowAll());
      ManagerTestNode.attach(
          manager, ManagerTestNode.spec(ID + 1, peer, IDENTITY), ManagerTestNode.allowAll());
      try (TcpEchoServer tcp = TcpEchoServer.start(workload.namespace(), 8080);
          UdpEchoServer udp = UdpEchoServer.start(workload.namespace(), workload.ipv4(), 8081);
          TcpConnection connection = TcpConnection.open(peer.namespace(), workload.ipv4(), 8080);
          UdpStream stream = UdpStream.start(peer.namespace(), workload.ipv4(), 8081, 1)) {
        for (int i = 0; i < 10; i++) {
          await(manager.endpoints().attach(spec().withIdentity(IDENTITY + i)));
        }
        assertTrue(connection.exchangesMore(20, LONGEST_MS));
        assertEquals(0, stream.stopAndCountLost());
        assertEquals(1, tcp.connections());
        assertTrue(udp.datagrams() >= stream.sent());
      }
    }
  }

  private List<String> pinsOfLinks() {
    return node.pins().stream().filter(pin -> pin.startsWith("agent/endpoints/")).toList();
  }
}
