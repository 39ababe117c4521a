package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.ScenarioHost.STRANGER;
import static agent.datapath.programs.scenario.ScenarioNetwork.OTHER_DEVICE;
import static agent.datapath.programs.scenario.WorkloadPolicy.UDP;
import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.datapath.programs.scenario.ScenarioServices.Server;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The load balancer sends a packet by the route of its traffic class. */
@KernelTest
class TrafficClassRouteKernelTest {
  private static final int PORT = 80;
  private static final int MARKED = 0x10;

  private final BalancerNode node = new BalancerNode();

  @AfterEach
  void close() {
    node.close();
  }

  @ParameterizedTest
  @EnumSource
  void shouldSendByTheRouteOfTheTrafficClass(Family family) {
    final String frontend = family == Family.IPV4 ? "203.0.113.80" : "2001:db8:80::1";
    node.network().resolve(PEER, BalancerNode.DEVICE);
    node.network().resolve(PEER, OTHER_DEVICE);
    node.network().routeByClass(MARKED, PEER, OTHER_DEVICE);
    node.services(family).putOutside(7, frontend, PORT, UDP, 0, new Server(PEER, PORT));
    final IpPacket plain =
        BalancerNode.received(family.address(STRANGER), frontend).udp(31_337, PORT);
    assertEquals(BalancerOutcome.TX, node.receive(plain).action());
    assertEquals(BalancerOutcome.REDIRECT, node.receive(plain.trafficClass(MARKED)).action());
    assertEquals(BalancerOutcome.TX, node.receive(plain.trafficClass(0)).action());
  }
}
