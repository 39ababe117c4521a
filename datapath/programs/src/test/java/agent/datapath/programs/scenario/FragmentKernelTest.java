package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.ScenarioHost.STRANGER;
import static agent.datapath.programs.scenario.WorkloadPolicy.SCTP;
import static agent.datapath.programs.scenario.WorkloadPolicy.TCP;
import static agent.datapath.programs.scenario.WorkloadPolicy.UDP;
import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.maps.layout.DropReason;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Which first fragment the later fragments of a datagram find. */
@KernelTest
class FragmentKernelTest {
  private static final int ID = 4711;

  private final ScenarioNode node = new ScenarioNode().withoutPolicy();

  @AfterEach
  void close() {
    node.close();
  }

  @ParameterizedTest
  @EnumSource
  void shouldKeepDatagramsOfTwoProtocolsWithOneIdApart(Family family) {
    final List<byte[]> udp =
        family.packet(ALICE, PEER).id(ID).udp(40000, 53).payloadOf(1200).fragments(512);
    final List<byte[]> sctp =
        family.packet(ALICE, PEER).id(ID).sctp(40000, 3868).payloadOf(1200).fragments(512);
    node.fromWorkload(ALICE, udp.get(0)).passes();
    node.fromWorkload(ALICE, sctp.get(1)).waits();
    node.policyOf(ALICE).denyTo(PEER, UDP, 3868).denyTo(PEER, SCTP, 53);
    node.raiseGeneration(ALICE.id);
    node.fromWorkload(ALICE, sctp.get(0)).passes();
    node.fromWorkload(ALICE, udp.get(1)).passes();
    node.fromWorkload(ALICE, sctp.get(1)).passes();
    assertEquals(2, node.flows().count());
  }

  @ParameterizedTest
  @EnumSource
  void shouldKeepDatagramsOfOtherHostsAndIdsApart(Family family) {
    node.fromWorkload(ALICE, fragment(family, ALICE, PEER, ID, 0)).passes();
    node.fromWorkload(ALICE, fragment(family, ALICE, PEER, ID + 1, 1)).waits();
    node.fromWorkload(ALICE, fragment(family, ALICE, STRANGER, ID, 1)).waits();
    node.fromWorkload(BOB, fragment(family, BOB, PEER, ID, 1)).waits();
    node.toWorkload(ALICE, fragment(family, PEER, ALICE, ID, 1)).waits();
    node.fromWorkload(ALICE, fragment(family, ALICE, PEER, ID, 1)).passes();
    node.fromWorkload(ALICE, fragment(family, ALICE, PEER, ID, 2)).passes();
  }

  /** Its protocol is not known, so that nothing can be waited for. */
  @Test
  void shouldDropALaterFragmentWithExtensionHeaders() {
    node.fromWorkload(ALICE, later(Family.IPV6, IpPacket.DESTINATION_OPTIONS))
        .dropsFor(DropReason.FRAGMENT_NOT_FOUND);
  }

  /** The identification of IPv6 has 32 bits. */
  @Test
  void shouldCompareTheWholeIdentificationOfIpv6() {
    node.fromWorkload(ALICE, fragment(Family.IPV6, ALICE, PEER, ID, 0)).passes();
    node.fromWorkload(ALICE, fragment(Family.IPV6, ALICE, PEER, ID | 1 << 20, 1)).waits();
  }

  @ParameterizedTest
  @EnumSource
  void shouldNotStoreAPacketThatIsNotFragmented(Family family) {
    final IpPacket whole = family.packet(ALICE, PEER).id(ID).udp(40000, 53).payloadOf(10);
    node.fromWorkload(ALICE, whole.fragment(0, false)).passes();
    node.fromWorkload(ALICE, fragment(family, ALICE, PEER, ID, 1)).waits();
  }

  @ParameterizedTest
  @EnumSource
  void shouldDropALaterFragmentOfEachProtocolWithPorts(Family family) {
    for (final int protocol : new int[] {TCP, UDP, SCTP, family.icmp()}) {
      node.fromWorkload(ALICE, later(family, protocol)).waits();
    }
    final int gre = 47;
    node.fromWorkload(ALICE, later(family, gre)).passes();
  }

  /** A later fragment holds no quoted packet, and its payload could look like one. */
  @ParameterizedTest
  @EnumSource
  void shouldEvaluatePolicyByTypeForTheFragmentsOfAnError(Family family) {
    try (ScenarioNode strict = new ScenarioNode()) {
      strict.policyOf(ALICE).allowTo(PEER, UDP, 53);
      final IpPacket query = family.packet(ALICE, PEER).udp(40000, 53).payloadOf(1000);
      strict.fromWorkload(ALICE, query).passes();
      final byte[] body = new byte[1004];
      System.arraycopy(query.bytes(), 14, body, 4, 1000);
      final List<byte[]> error =
          family.packet(PEER, ALICE).id(ID).icmp(family.unreachableType(), 1, body).fragments(512);
      strict.toWorkload(ALICE, error.get(0)).passes();
      strict.toWorkload(ALICE, error.get(1)).dropsFor(DropReason.POLICY_DENIED);
      strict.policyOf(ALICE).allowFrom(PEER, family.icmp(), family.unreachableType());
      strict.raiseGeneration(ALICE.id);
      strict.toWorkload(ALICE, error.get(1)).passes();
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldFindTheIdentifierOfEchoForLaterFragments(Family family) {
    try (ScenarioNode strict = new ScenarioNode()) {
      strict.policyOf(ALICE).allowTo(PEER, family.icmp(), family.echoRequestType());
      final byte[] body = new byte[1004];
      body[1] = 7;
      for (final byte[] fragment :
          family
              .packet(ALICE, PEER)
              .id(ID)
              .icmp(family.echoRequestType(), 0, body)
              .fragments(512)) {
        strict.fromWorkload(ALICE, fragment).passes();
      }
      for (final byte[] fragment :
          family.packet(PEER, ALICE).id(ID).icmp(family.echoReplyType(), 0, body).fragments(512)) {
        strict.toWorkload(ALICE, fragment).passes();
      }
      strict
          .toWorkload(ALICE, family.packet(PEER, ALICE).echoReply(8, 1))
          .dropsFor(DropReason.POLICY_DENIED);
      assertEquals(1, strict.flows().count());
    }
  }

  private static IpPacket later(Family family, int protocol) {
    return family
        .packet(ALICE, PEER)
        .id(ID)
        .protocol(protocol)
        .payload(new byte[64])
        .fragment(512, false);
  }

  private static byte[] fragment(
      Family family, ScenarioHost from, ScenarioHost to, int id, int index) {
    return family.packet(from, to).id(id).udp(40000, 53).payloadOf(1200).fragments(512).get(index);
  }
}
