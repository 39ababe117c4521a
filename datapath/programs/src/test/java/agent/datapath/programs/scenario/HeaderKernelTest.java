package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.WorkloadPolicy.TCP;
import static agent.datapath.programs.scenario.WorkloadPolicy.UDP;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import agent.maps.layout.DropReason;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import agent.testkit.Packets;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** IP options, extension headers, fragments and VLAN tags. */
@KernelTest
class HeaderKernelTest {
  private final ScenarioNode node = new ScenarioNode();

  @AfterEach
  void close() {
    node.close();
  }

  @Test
  void shouldFindPortsBehindIpv4Options() {
    node.policyOf(ALICE).allowTo(BOB, TCP, 80);
    node.policyOf(BOB).allowFrom(ALICE, TCP, 80);
    final int[] routerAlert = {148, 4, 0, 0};
    node.fromWorkload(
            ALICE, Family.IPV4.packet(ALICE, BOB).options(routerAlert).tcp(40000, 80).syn())
        .reaches(BOB);
    node.fromWorkload(ALICE, Family.IPV4.packet(ALICE, BOB).tcp(40000, 80).ack()).reaches(BOB);
    node.fromWorkload(
            ALICE, Family.IPV4.packet(ALICE, BOB).options(routerAlert).tcp(40000, 80).ack())
        .reaches(BOB);
    node.fromWorkload(
            ALICE, Family.IPV4.packet(ALICE, BOB).options(routerAlert).tcp(40000, 81).syn())
        .dropsFor(DropReason.POLICY_DENIED);
    assertEquals(1, node.flows().count());
  }

  @Test
  void shouldNotReadPortsFromIpv4Options() {
    final int[] ports = {0x9c, 0x40, 0, 53};
    node.policyOf(ALICE).allowTo(PEER, UDP, 53);
    node.fromWorkload(ALICE, Family.IPV4.packet(ALICE, PEER).udp(40000, 53)).passes();
    node.fromWorkload(ALICE, Family.IPV4.packet(ALICE, PEER).options(ports).udp(40000, 54))
        .dropsFor(DropReason.POLICY_DENIED);
  }

  @Test
  void shouldFindPortsBehindExtensionHeaders() {
    node.policyOf(ALICE).allowTo(BOB, UDP, 53);
    node.policyOf(BOB).allowFrom(ALICE, UDP, 53);
    node.fromWorkload(ALICE, extended(3).udp(40000, 53)).reaches(BOB);
    node.fromWorkload(ALICE, extended(3).udp(40000, 54)).dropsFor(DropReason.POLICY_DENIED);
    node.fromWorkload(ALICE, extended(1).extension(IpPacket.ROUTING, 3).udp(40000, 53))
        .reaches(BOB);
    node.fromWorkload(ALICE, Family.IPV6.packet(ALICE, BOB).udp(40000, 53)).reaches(BOB);
    assertEquals(1, node.flows().count());
  }

  /** Its length counts words instead of units of eight bytes. RFC 4302. */
  @Test
  void shouldFindPortsBehindAuthenticationHeaders() {
    node.policyOf(ALICE).allowTo(BOB, UDP, 53);
    node.policyOf(BOB).allowFrom(ALICE, UDP, 53);
    for (int units = 2; units <= 5; units++) {
      node.fromWorkload(ALICE, authenticated(units).udp(40000, 53)).reaches(BOB);
      node.fromWorkload(ALICE, authenticated(units).udp(40000, 54))
          .dropsFor(DropReason.POLICY_DENIED);
    }
    node.fromWorkload(
            ALICE, authenticated(3).extension(IpPacket.DESTINATION_OPTIONS, 2).udp(40000, 53))
        .reaches(BOB);
    assertEquals(1, node.flows().count());
  }

  @Test
  void shouldWalkABoundedNumberOfExtensionHeaders() {
    node.withoutPolicy();
    node.fromWorkload(ALICE, extended(6).udp(40000, 53)).reaches(BOB);
    node.fromWorkload(ALICE, extended(7).udp(40000, 53)).dropsFor(DropReason.EXTENSION_HEADERS);
  }

  @Test
  void shouldDropHopByHopOptionsThatAreNotFirst() {
    node.withoutPolicy();
    node.fromWorkload(
            ALICE,
            Family.IPV6
                .packet(ALICE, BOB)
                .extension(IpPacket.DESTINATION_OPTIONS, 1)
                .extension(IpPacket.HOP_BY_HOP, 1)
                .udp(40000, 53))
        .dropsFor(DropReason.MALFORMED);
  }

  @Test
  void shouldDropProtocolsOfTheOtherFamilyAndNone() {
    node.withoutPolicy();
    final byte[] body = new byte[16];
    node.fromWorkload(ALICE, Family.IPV4.packet(ALICE, PEER).protocol(58).payload(body))
        .dropsFor(DropReason.UNKNOWN_PROTOCOL);
    node.fromWorkload(ALICE, Family.IPV6.packet(ALICE, PEER).protocol(1).payload(body))
        .dropsFor(DropReason.UNKNOWN_PROTOCOL);
    node.fromWorkload(ALICE, Family.IPV6.packet(ALICE, PEER).protocol(59))
        .dropsFor(DropReason.UNKNOWN_PROTOCOL);
  }

  @ParameterizedTest
  @EnumSource
  void shouldFindThePortsOfLaterFragments(Family family) {
    node.policyOf(ALICE).allowTo(BOB, UDP, 53);
    node.policyOf(BOB).allowFrom(ALICE, UDP, 53);
    for (final byte[] fragment : fragments(family, 53)) {
      node.fromWorkload(ALICE, fragment).reaches(BOB);
    }
    assertEquals(1, node.flows().count());
    final List<byte[]> denied = fragments(family, 54);
    node.fromWorkload(ALICE, denied.get(0)).dropsFor(DropReason.POLICY_DENIED);
    node.fromWorkload(ALICE, denied.get(1)).waits();
  }

  @ParameterizedTest
  @EnumSource
  void shouldHaveALaterFragmentWaitForItsFirst(Family family) {
    node.withoutPolicy();
    final List<byte[]> fragments = fragments(family, 53);
    node.fromWorkload(ALICE, fragments.get(1)).waits();
    node.fromWorkload(ALICE, fragments.get(0)).reaches(BOB);
    node.fromWorkload(ALICE, fragments.get(1)).reaches(BOB);
  }

  @ParameterizedTest
  @EnumSource
  void shouldTrackAFragmentedEcho(Family family) {
    node.policyOf(ALICE).allowTo(PEER, family.icmp(), family.echoRequestType());
    final byte[] body = new byte[1204];
    body[1] = 7;
    final IpPacket ping = family.packet(ALICE, PEER).id(99).icmp(family.echoRequestType(), 0, body);
    for (final byte[] fragment : ping.fragments(512)) {
      node.fromWorkload(ALICE, fragment).passes();
    }
    assertNotNull(node.flows().find(family, ALICE, 7, PEER, 0, family.icmp()));
    final IpPacket pong = family.packet(PEER, ALICE).id(99).icmp(family.echoReplyType(), 0, body);
    for (final byte[] fragment : pong.fragments(512)) {
      node.toWorkload(ALICE, fragment).passes();
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldDropAFragmentThatWouldOverwriteTcpFlags(Family family) {
    node.withoutPolicy();
    node.fromWorkload(
            ALICE, family.packet(ALICE, PEER).id(5).tcp(40000, 80).syn().fragment(8, false))
        .dropsFor(DropReason.MALFORMED);
  }

  @ParameterizedTest
  @EnumSource
  void shouldDropAFirstFragmentWithoutACompleteTcpHeader(Family family) {
    node.withoutPolicy();
    final byte[] tiny = new byte[16];
    tiny[3] = 80;
    node.fromWorkload(
            ALICE, family.packet(ALICE, PEER).id(5).protocol(TCP).payload(tiny).fragment(0, true))
        .dropsFor(DropReason.MALFORMED);
  }

  @ParameterizedTest
  @EnumSource
  void shouldDropTaggedFrames(Family family) {
    node.withoutPolicy();
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).vlan(7).udp(40000, 53))
        .dropsFor(DropReason.UNKNOWN_ETHERTYPE);
    node.toWorkload(ALICE, family.packet(PEER, ALICE).vlan(7).udp(40000, 53))
        .dropsFor(DropReason.UNKNOWN_ETHERTYPE);
  }

  @Test
  void shouldDropOtherEtherTypes() {
    node.withoutPolicy();
    final int lldp = 0x88cc;
    node.fromWorkload(ALICE, Packets.frame(ALICE.hostMac(), ALICE.mac(), lldp, new byte[46]))
        .dropsFor(DropReason.UNKNOWN_ETHERTYPE);
  }

  private static IpPacket extended(int headers) {
    final IpPacket packet = Family.IPV6.packet(ALICE, BOB).extension(IpPacket.HOP_BY_HOP, 1);
    for (int i = 1; i < headers; i++) {
      packet.extension(IpPacket.DESTINATION_OPTIONS, 2);
    }
    return packet;
  }

  private static IpPacket authenticated(int units) {
    return Family.IPV6.packet(ALICE, BOB).extension(IpPacket.AUTHENTICATION, units);
  }

  private static List<byte[]> fragments(Family family, int port) {
    return family.packet(ALICE, BOB).id(port).udp(40000, port).payloadOf(1200).fragments(512);
  }
}
