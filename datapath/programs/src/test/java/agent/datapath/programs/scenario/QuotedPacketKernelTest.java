package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.ScenarioHost.STRANGER;
import static agent.datapath.programs.scenario.WorkloadPolicy.TCP;
import static agent.datapath.programs.scenario.WorkloadPolicy.UDP;

import agent.maps.layout.DropReason;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The packets that ICMP errors quote: options, extension headers, fragments and other messages. */
@KernelTest
class QuotedPacketKernelTest {
  /** The ports of the tracked flow, as the first bytes of a payload. */
  private static final byte[] PORTS = {(byte) 0x9c, 0x40, 0, 53, 0, 8, 0, 0};

  private static final int[] ROUTER_ALERT = {148, 4, 0, 0, 1, 1, 1, 1};

  private final ScenarioNode node = new ScenarioNode();

  @BeforeEach
  void openFlows() {
    for (final Family family : Family.values()) {
      node.policyOf(ALICE).allowTo(PEER, UDP, 53).allowTo(PEER, TCP, 80);
      node.policyOf(ALICE).allowTo(PEER, family.icmp(), family.echoRequestType());
      node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(40000, 53)).passes();
      node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).syn()).passes();
      node.fromWorkload(ALICE, family.packet(ALICE, PEER).echoRequest(7, 1)).passes();
    }
  }

  @AfterEach
  void close() {
    node.close();
  }

  @Test
  void shouldFindThePortsBehindTheOptionsOfTheQuotedPacket() {
    relates(Family.IPV4, Family.IPV4.packet(ALICE, PEER).options(ROUTER_ALERT).udp(40000, 53));
    relatesNot(Family.IPV4, Family.IPV4.packet(ALICE, PEER).options(ROUTER_ALERT).udp(40001, 53));
    // the options of another packet that look like the ports of the flow
    final int[] ports = {0x9c, 0x40, 0, 53};
    relatesNot(Family.IPV4, Family.IPV4.packet(ALICE, PEER).options(ports).udp(1, 2));
  }

  @Test
  void shouldFindThePortsBehindTheExtensionHeadersOfTheQuotedPacket() {
    for (final int header : new int[] {IpPacket.DESTINATION_OPTIONS, IpPacket.ROUTING}) {
      relates(Family.IPV6, v6().extension(header, 2).udp(40000, 53));
      relatesNot(Family.IPV6, v6().extension(header, 2).udp(40001, 53));
    }
    relates(Family.IPV6, v6().extension(IpPacket.AUTHENTICATION, 3).udp(40000, 53));
    relates(
        Family.IPV6,
        v6().extension(IpPacket.HOP_BY_HOP, 1).extension(IpPacket.ROUTING, 1).udp(40000, 53));
    relatesNot(
        Family.IPV6,
        v6().extension(IpPacket.HOP_BY_HOP, 1)
            .extension(IpPacket.ROUTING, 1)
            .extension(IpPacket.DESTINATION_OPTIONS, 1)
            .udp(40000, 53));
  }

  @ParameterizedTest
  @EnumSource
  void shouldFindThePortsInAQuotedFirstFragment(Family family) {
    relates(family, family.packet(ALICE, PEER).id(9).udp(40000, 53).fragment(0, true));
    relatesNot(family, family.packet(ALICE, PEER).id(9).udp(40001, 53).fragment(0, true));
  }

  @ParameterizedTest
  @EnumSource
  void shouldFindNoPortsInAQuotedLaterFragment(Family family) {
    for (final boolean more : new boolean[] {true, false}) {
      relatesNot(
          family,
          family.packet(ALICE, PEER).id(9).protocol(UDP).payload(PORTS).fragment(512, more));
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldRelateToEchoButNotToOtherMessagesWithItsIdentifier(Family family) {
    relates(family, family.packet(ALICE, PEER).echoRequest(7, 2));
    relatesNot(family, family.packet(ALICE, PEER).echoRequest(8, 2));
    relatesNot(
        family,
        family.packet(ALICE, PEER).icmp(family.timestampType(), 0, new byte[] {0, 7, 0, 2}));
    node.policyOf(ALICE).allowFrom(PEER, family.icmp(), family.echoRequestType());
    node.toWorkload(ALICE, family.packet(PEER, ALICE).echoRequest(9, 1)).passes();
    relates(family, family.packet(ALICE, PEER).echoReply(9, 1));
    relatesNot(
        family,
        family.packet(ALICE, PEER).icmp(family.timestampType(), 0, new byte[] {0, 9, 0, 1}));
  }

  @ParameterizedTest
  @EnumSource
  void shouldRelateToTheProtocolOfTheQuotedPacketOnly(Family family) {
    relates(family, family.packet(ALICE, PEER).tcp(40000, 80).ack());
    relatesNot(family, family.packet(ALICE, PEER).tcp(40000, 53).ack());
    relatesNot(family, family.packet(ALICE, PEER).sctp(40000, 53));
  }

  @ParameterizedTest
  @EnumSource
  void shouldNotRelateToATruncatedQuotedPacket(Family family) {
    final byte[] quoted = family.packet(ALICE, PEER).udp(40000, 53).bytes();
    for (int ipBytes = 0; ipBytes < quoted.length - 14; ipBytes += 4) {
      final byte[] body = new byte[4 + ipBytes];
      System.arraycopy(quoted, 14, body, 4, ipBytes);
      node.toWorkload(ALICE, family.packet(STRANGER, ALICE).icmp(family.unreachableType(), 1, body))
          .dropsFor(DropReason.ICMP_ERROR_UNTRACKED);
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldRelateToErrorsOfEachType(Family family) {
    final IpPacket query = family.packet(ALICE, PEER).udp(40000, 53);
    final int[] types = family == Family.IPV4 ? new int[] {3, 11, 12} : new int[] {1, 2, 3, 4};
    for (final int type : types) {
      node.toWorkload(ALICE, family.packet(STRANGER, ALICE).icmpError(type, 0, query)).passes();
    }
    final int other = family == Family.IPV4 ? 5 : 100;
    node.toWorkload(ALICE, family.packet(STRANGER, ALICE).icmpError(other, 0, query))
        .dropsFor(DropReason.POLICY_DENIED);
  }

  @ParameterizedTest
  @EnumSource
  void shouldNotForwardAnErrorOfAWorkloadAboutAPacketToAnotherHost(Family family) {
    // PEER has a flow with ALICE; BOB claims that he cannot deliver a packet of it
    node.policyOf(ALICE).allowFrom(PEER, UDP, 9);
    node.toWorkload(ALICE, family.packet(PEER, ALICE).udp(40000, 9)).passes();
    final IpPacket toAlice = family.packet(PEER, ALICE).udp(40000, 9);
    node.fromWorkload(BOB, family.packet(BOB, PEER).icmpError(family.unreachableType(), 1, toAlice))
        .dropsFor(DropReason.ICMP_ERROR_UNTRACKED);
    node.fromWorkload(
            ALICE, family.packet(ALICE, PEER).icmpError(family.unreachableType(), 1, toAlice))
        .passes();
  }

  private static IpPacket v6() {
    return Family.IPV6.packet(ALICE, PEER);
  }

  private void relates(Family family, IpPacket quoted) {
    node.toWorkload(ALICE, error(family, quoted)).passes();
  }

  private void relatesNot(Family family, IpPacket quoted) {
    node.toWorkload(ALICE, error(family, quoted)).dropsFor(DropReason.ICMP_ERROR_UNTRACKED);
  }

  private static IpPacket error(Family family, IpPacket quoted) {
    return family.packet(STRANGER, ALICE).icmpError(family.unreachableType(), 1, quoted);
  }
}
