package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.ScenarioHost.STRANGER;
import static agent.datapath.programs.scenario.WorkloadPolicy.UDP;
import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.datapath.programs.scenario.ScenarioServices.Server;
import agent.maps.kernel.MetricsMap;
import agent.maps.layout.DropReason;
import agent.maps.layout.MetricsDirection;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The bytes that the load balancer counts are those of the frames, as at tc. */
@KernelTest
class BalancerBytesKernelTest {
  private static final int PORT = 80;

  private final BalancerNode node = new BalancerNode();
  private final MetricsMap metrics = new MetricsMap(node.map("metrics"));

  @AfterEach
  void close() {
    node.close();
  }

  private long bytes(DropReason reason) {
    assertEquals(0, metrics.refresh());
    return metrics.bytes(MetricsDirection.NETWORK.number(), reason.number());
  }

  @ParameterizedTest
  @EnumSource
  void shouldCountTheBytesOfFrames(Family family) {
    final String frontend = family == Family.IPV4 ? "203.0.113.80" : "2001:db8:80::1";
    node.network().resolve(PEER, BalancerNode.DEVICE);
    node.services(family).putOutside(7, frontend, PORT, UDP, 0, new Server(PEER, PORT));
    final IpPacket packet =
        BalancerNode.received(family.address(STRANGER), frontend).udp(31_337, PORT).payloadOf(99);
    assertEquals(BalancerOutcome.TX, node.receive(packet).action());
    assertEquals(packet.bytes().length, bytes(DropReason.NONE));
    node.network().route(PEER, "unreachable");
    node.receive(packet).dropsFor(DropReason.SERVICE_UNSERVED);
    assertEquals(packet.bytes().length, bytes(DropReason.SERVICE_UNSERVED));
    assertEquals(packet.bytes().length, bytes(DropReason.NONE), "and no others");
  }
}
