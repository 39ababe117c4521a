package agent.datapath.manager;

import static agent.datapath.manager.ManagerTestNode.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.manager.spec.EndpointSpec;
import agent.datapath.manager.spec.TcMode;
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
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A prepared endpoint drops all packets until it is attached, and is then equal to one that was not
 * prepared.
 */
@KernelTest
class PrepareKernelTest {
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

  @Test
  void shouldDropAllPacketsOfAPreparedEndpointUntilItIsAttached() throws Exception {
    try (DatapathManager manager = node.launch(node.context().tcMode(TcMode.TCX))) {
      await(manager.endpoints().prepare(spec()));
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
      assertEquals(
          List.of("agent/endpoints/41/from_endpoint", "agent/endpoints/41/to_endpoint"),
          pinsOfLinks());
      assertTrue(pinsOfLinks().containsAll(closed));
      assertEquals(List.of(), ManagerTestNode.detach(manager, ID));
      assertEquals(List.of(), pinsOfLinks());
    }
  }

  @Test
  void shouldDetachTheDroppingProgramsOfAnEndpointThatWasNeverAttached() throws Exception {
    try (DatapathManager manager = node.launch(node.context().tcMode(TcMode.TCX))) {
      await(manager.endpoints().prepare(spec()));
      assertEquals(List.of(), ManagerTestNode.detach(manager, ID));
      assertEquals(List.of(), pinsOfLinks());
    }
  }

  @Test
  void shouldDetachTheDroppingProgramsWhenTheAttachmentFails() throws Exception {
    try (DatapathManager manager = node.launch(node.context().tcMode(TcMode.TCX))) {
      await(manager.endpoints().prepare(spec()));
      final EndpointSpec nowhere =
          new EndpointSpec(
              ID,
              999_999,
              "nowhere",
              spec().ipv4(),
              spec().ipv6(),
              spec().mac(),
              spec().hostMac(),
              IDENTITY,
              spec().options(),
              0);
      assertThrows(OperationException.class, () -> await(manager.endpoints().attach(nowhere)));
      assertEquals(List.of(), pinsOfLinks());
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"TCX", "CLSACT"})
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
          final EndpointSpec next = spec().withIdentity(IDENTITY + i);
          await(manager.endpoints().prepare(next));
          await(manager.endpoints().attach(next));
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
