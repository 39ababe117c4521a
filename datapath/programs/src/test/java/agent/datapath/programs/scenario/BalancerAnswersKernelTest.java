package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.ScenarioHost.STRANGER;
import static agent.datapath.programs.scenario.WorkloadPolicy.TCP;
import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.datapath.programs.scenario.ScenarioServices.Server;
import agent.maps.layout.DropReason;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import agent.testkit.Packets;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What the load balancer does not answer. */
@KernelTest
class BalancerAnswersKernelTest {
  private static final int PORT = 80;
  private static final int CLIENT = 31_337;
  private static final int MTU = 1400;

  private final BalancerNode node = new BalancerNode();

  @AfterEach
  void close() {
    node.close();
  }

  /** RFC 1122, section 3.2.2: an error is never answered by another one. */
  @ParameterizedTest
  @EnumSource
  void shouldNotAnswerErrorsThatDoNotFit(Family family) {
    final boolean isIpv4 = family == Family.IPV4;
    final String frontend = isIpv4 ? "203.0.113.80" : "2001:db8:80::1";
    final String client = family.address(STRANGER);
    node.network().resolve(PEER, BalancerNode.DEVICE);
    node.network().mtu(BalancerNode.DEVICE, MTU);
    node.services(family).putOutside(7, frontend, PORT, TCP, 0, new Server(PEER, PORT));
    final IpPacket opening = BalancerNode.received(client, frontend).tcp(CLIENT, PORT).syn();
    assertEquals(BalancerOutcome.TX, node.receive(opening).action());
    final int header = isIpv4 ? 20 : 40;
    final int most = MTU - header - header - 8; // the outer header, that of the error, and ICMP
    node.receive(error(isIpv4, frontend, client, most + 1)).dropsFor(DropReason.NOT_FORWARDABLE);
    assertEquals(BalancerOutcome.TX, node.receive(error(isIpv4, frontend, client, most)).action());
  }

  /** An error about a packet of the backend, which quotes so many bytes of it. */
  private static IpPacket error(boolean isIpv4, String frontend, String client, int quoted) {
    final IpPacket about =
        (isIpv4 ? Packets.ipv4(frontend, client) : Packets.ipv6(frontend, client))
            .tcp(PORT, CLIENT)
            .ack()
            .payloadOf(1500);
    return BalancerNode.received(isIpv4 ? "198.51.100.99" : "2001:db8::99", frontend)
        .mayNotBeSplit()
        .icmpError(isIpv4 ? 3 : 2, isIpv4 ? 4 : 0, about, quoted);
  }
}
