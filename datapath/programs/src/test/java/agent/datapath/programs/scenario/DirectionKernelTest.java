package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.ScenarioHost.STRANGER;
import static agent.datapath.programs.scenario.WorkloadPolicy.TCP;
import static agent.datapath.programs.scenario.WorkloadPolicy.UDP;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.maps.layout.ConntrackFlag;
import agent.maps.layout.DropReason;
import agent.maps.layout.EndpointOption;
import agent.maps.layout.PolicyDirection;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Who opened a flow, also where that changes or is not known. */
@KernelTest
class DirectionKernelTest {
  private static final int OWNERS = 256;

  /** An identity that no policy names. */
  private static final int OTHER_IDENTITY = 999;

  private final ScenarioNode node = new ScenarioNode();

  @AfterEach
  void close() {
    node.close();
  }

  @ParameterizedTest
  @EnumSource
  void shouldJudgeANewFlowWhereAnEndpointGetsTheAddressOfThePeer(Family family) {
    node.removeIpcacheEntry(BOB);
    node.policyOf(ALICE)
        .allowFrom(STRANGER, UDP, 40000)
        .allowFrom(BOB, UDP, 40000)
        .allowTo(BOB, UDP, 53);
    node.policyOf(BOB).allowFrom(ALICE, UDP, 53);
    node.toWorkload(
            ALICE, family.packet(BOB, ALICE).from(ALICE.hostMac()).to(ALICE.mac()).udp(53, 40000))
        .passes();
    assertEquals(BOB, node.flows().find(family, ALICE, 40000, BOB, 53, UDP).initiator());
    node.setIpcacheEntry(BOB, BOB.identity, BOB.id);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).udp(40000, 53)).reaches(BOB);
    assertEquals(ALICE, node.flows().find(family, ALICE, 40000, BOB, 53, UDP).initiator());
  }

  @ParameterizedTest
  @EnumSource
  void shouldJudgeANewFlowWhereTheEndpointOfThePeerIsGone(Family family) {
    node.policyOf(ALICE).allowTo(BOB, UDP, 53).allowFrom(STRANGER, UDP, 40000);
    node.policyOf(BOB).allowFrom(ALICE, UDP, 53);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).udp(40000, 53)).reaches(BOB);
    node.removeIpcacheEntry(BOB);
    node.raiseGeneration(BOB.id);
    node.toWorkload(
            ALICE, family.packet(BOB, ALICE).from(ALICE.hostMac()).to(ALICE.mac()).udp(53, 40000))
        .passes();
    assertEquals(BOB, node.flows().find(family, ALICE, 40000, BOB, 53, UDP).initiator());
  }

  @ParameterizedTest
  @EnumSource
  void shouldJudgeANewConnectionWhereAnEndpointGetsTheAddressOfThePeer(Family family) {
    node.removeIpcacheEntry(BOB);
    node.policyOf(ALICE).allowFrom(STRANGER, TCP, 80).allowTo(BOB, TCP, 40000);
    node.policyOf(BOB).allowFrom(ALICE, TCP, 40000);
    node.toWorkload(
            ALICE,
            family.packet(BOB, ALICE).from(ALICE.hostMac()).to(ALICE.mac()).tcp(40000, 80).syn())
        .passes();
    node.setIpcacheEntry(BOB, BOB.identity, BOB.id);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).tcp(80, 40000).ack()).reaches(BOB);
    assertEquals(ALICE, node.flows().find(family, ALICE, 80, BOB, 40000, TCP).initiator());
  }

  @ParameterizedTest
  @EnumSource
  void shouldJudgeANewConnectionWhereTheEndpointOfThePeerIsGone(Family family) {
    node.policyOf(ALICE).allowTo(BOB, TCP, 80).allowFrom(STRANGER, TCP, 40000);
    node.policyOf(BOB).allowFrom(ALICE, TCP, 80);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).tcp(40000, 80).syn()).reaches(BOB);
    node.removeIpcacheEntry(BOB);
    node.raiseGeneration(BOB.id);
    node.toWorkload(
            ALICE,
            family.packet(BOB, ALICE).from(ALICE.hostMac()).to(ALICE.mac()).tcp(80, 40000).ack())
        .passes();
    assertEquals(BOB, node.flows().find(family, ALICE, 40000, BOB, 80, TCP).initiator());
  }

  @ParameterizedTest
  @EnumSource
  void shouldNotFollowTheFlowOfAnEarlierOwnerOfAnId(Family family) {
    node.policyOf(ALICE).allowTo(BOB, UDP, 53);
    node.policyOf(BOB).allowFrom(ALICE, UDP, 53).allowTo(ALICE, UDP, 40000);
    node.policyOf(ALICE).allowFrom(BOB, UDP, 40000);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).udp(40000, 53)).reaches(BOB);
    for (int owner = 0; owner < OWNERS; owner++) {
      node.reassign(BOB);
    }
    node.policyOf(ALICE).revokeTo(BOB, UDP, 53);
    node.raiseGeneration(ALICE.id);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).udp(40000, 53))
        .dropsFor(DropReason.POLICY_DENIED);
    node.fromWorkload(BOB, family.packet(BOB, ALICE).udp(53, 40000)).reaches(ALICE);
    assertEquals(BOB, node.flows().find(family, ALICE, 40000, BOB, 53, UDP).initiator());
  }

  @ParameterizedTest
  @EnumSource
  void shouldJudgeTheOtherSideOfADeniedFlowAsTheOpenerOfItsOwn(Family family) {
    node.policyOf(ALICE).allowTo(PEER, UDP, 123).allowFrom(PEER, UDP, 123);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(123, 123)).passes();
    node.policyOf(ALICE).revokeTo(PEER, UDP, 123);
    node.raiseGeneration(ALICE.id);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(123, 123))
        .dropsFor(DropReason.POLICY_DENIED);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(123, 123))
        .dropsFor(DropReason.POLICY_DENIED);
    node.toWorkload(ALICE, family.packet(PEER, ALICE).udp(123, 123)).passes();
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(123, 123)).passes();
    assertEquals(PEER, node.flows().find(family, ALICE, 123, PEER, 123, UDP).initiator());
  }

  @ParameterizedTest
  @EnumSource
  void shouldJudgeTheOtherSideAtOnceWhereItsPacketFindsTheFlowDenied(Family family) {
    node.policyOf(ALICE).allowTo(PEER, UDP, 123).allowFrom(PEER, UDP, 123);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(123, 123)).passes();
    node.policyOf(ALICE).revokeTo(PEER, UDP, 123);
    node.raiseGeneration(ALICE.id);
    node.toWorkload(ALICE, family.packet(PEER, ALICE).udp(123, 123)).passes();
    assertEquals(PEER, node.flows().find(family, ALICE, 123, PEER, 123, UDP).initiator());
  }

  @ParameterizedTest
  @EnumSource
  void shouldKeepAFlowDeniedWhereNeitherSideMayOpenIt(Family family) {
    node.policyOf(ALICE).allowTo(PEER, UDP, 53);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(40000, 53)).passes();
    node.policyOf(ALICE).revokeTo(PEER, UDP, 53);
    node.raiseGeneration(ALICE.id);
    for (int i = 0; i < 2; i++) {
      node.toWorkload(ALICE, family.packet(PEER, ALICE).udp(53, 40000))
          .dropsFor(DropReason.POLICY_DENIED);
    }
    assertTrue(node.flows().find(family, ALICE, 40000, PEER, 53, UDP).has(ConntrackFlag.DENIED));
  }

  @ParameterizedTest
  @EnumSource
  void shouldContinueAConnectionWhoseEntryIsLostByTheRuleThatAllowedIt(Family family) {
    node.mayHaveLostFlows();
    node.policyOf(ALICE).allowFrom(PEER, TCP, 80);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(80, 40000).ack().payload("data"))
        .passes();
    final Flows.Flow flow = node.flows().find(family, ALICE, 80, PEER, 40000, TCP);
    assertEquals(PEER, flow.initiator(), "only the other side may have opened it");
    assertFalse(flow.has(ConntrackFlag.DIRECTION_UNKNOWN));
    assertFalse(flow.has(ConntrackFlag.SEEN_NON_SYN));
    assertTrue(flow.has(ConntrackFlag.SEEN_REPLY));
    node.toWorkload(ALICE, family.packet(PEER, ALICE).tcp(40000, 80).ack()).passes();
  }

  @ParameterizedTest
  @EnumSource
  void shouldNotPassAPacketWithoutSynBecauseItsAnswersWouldPass(Family family) {
    node.mayHaveLostFlows();
    node.policyOf(ALICE).allowAll(PolicyDirection.INGRESS).allowTo(PEER, TCP, 443);
    node.policyOf(BOB).allowAll(PolicyDirection.EGRESS);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).ack())
        .dropsFor(DropReason.POLICY_DENIED);
    node.toWorkload(BOB, family.packet(PEER, BOB).tcp(40000, 80).ack())
        .dropsFor(DropReason.POLICY_DENIED);
    node.toWorkload(BOB, family.packet(PEER, BOB).tcp(40000, 80).syn().ack())
        .dropsFor(DropReason.POLICY_DENIED);
    assertEquals(0, node.flows().count());
  }

  @ParameterizedTest
  @EnumSource
  void shouldCutAConnectionOfUnknownDirectionWhereEitherDirectionIsDenied(Family family) {
    node.policyOf(ALICE).allowFrom(PEER, TCP, 80).allowAll(PolicyDirection.EGRESS);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(80, 40000).ack()).passes();
    final Flows.Flow flow = node.flows().find(family, ALICE, 80, PEER, 40000, TCP);
    assertTrue(flow.has(ConntrackFlag.DIRECTION_UNKNOWN));
    node.raiseGeneration(ALICE.id);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(80, 40000).ack()).passes();
    assertTrue(
        node.flows()
            .find(family, ALICE, 80, PEER, 40000, TCP)
            .has(ConntrackFlag.DIRECTION_UNKNOWN));
    node.policyOf(ALICE).denyFrom(PEER, TCP, 80);
    node.raiseGeneration(ALICE.id);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(80, 40000).ack())
        .dropsFor(DropReason.POLICY_DENY_RULE);
    node.toWorkload(ALICE, family.packet(PEER, ALICE).tcp(40000, 80).ack())
        .dropsFor(DropReason.POLICY_DENY_RULE);
  }

  @ParameterizedTest
  @EnumSource
  void shouldKnowTheDirectionOfAConnectionThatItSawOpened(Family family) {
    node.withoutPolicy();
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).syn()).passes();
    assertFalse(
        node.flows()
            .find(family, ALICE, 40000, PEER, 80, TCP)
            .has(ConntrackFlag.DIRECTION_UNKNOWN));
  }

  @ParameterizedTest
  @EnumSource
  void shouldTrackTwoPingsWithOneIdentifierApart(Family family) {
    node.policyOf(ALICE)
        .allowTo(BOB, family.icmp(), family.echoRequestType())
        .allowFrom(BOB, family.icmp(), family.echoRequestType());
    node.policyOf(BOB)
        .allowTo(ALICE, family.icmp(), family.echoRequestType())
        .allowFrom(ALICE, family.icmp(), family.echoRequestType());
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).echoRequest(7, 1)).reaches(BOB);
    node.fromWorkload(BOB, family.packet(BOB, ALICE).echoRequest(7, 1)).reaches(ALICE);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).echoReply(7, 1)).reaches(BOB);
    node.fromWorkload(BOB, family.packet(BOB, ALICE).echoReply(7, 1)).reaches(ALICE);
    assertEquals(2, node.flows().count());
  }

  @ParameterizedTest
  @EnumSource
  void shouldJudgeOnlyTheFlowsToAnAddressThatChanges(Family family) {
    node.policyOf(ALICE).allowTo(PEER, UDP, 53).allowTo(STRANGER, UDP, 53);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(40000, 53)).passes();
    node.fromWorkload(ALICE, family.packet(ALICE, STRANGER).udp(40000, 53)).passes();
    node.writeIdentity(PEER, OTHER_IDENTITY);
    node.writeIdentity(STRANGER, OTHER_IDENTITY);
    node.raiseShardsOf(STRANGER);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(40000, 53)).passes();
    node.fromWorkload(ALICE, family.packet(ALICE, STRANGER).udp(40000, 53))
        .dropsFor(DropReason.POLICY_DENIED);
    node.raiseShardsOf(PEER);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(40000, 53))
        .dropsFor(DropReason.POLICY_DENIED);
  }

  @ParameterizedTest
  @EnumSource
  void shouldContinueTheConnectionsOfTcpOnly(Family family) {
    node.mayHaveLostFlows();
    node.policyOf(ALICE).allowFrom(PEER, UDP, 80).allowFrom(PEER, TCP, 80);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(80, 40000))
        .dropsFor(DropReason.POLICY_DENIED);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(80, 40000).rst())
        .dropsFor(DropReason.POLICY_DENIED);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(80, 40000).syn().ack())
        .dropsFor(DropReason.POLICY_DENIED);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(80, 40000).fin().ack()).passes();
  }

  @ParameterizedTest
  @EnumSource
  void shouldContinueAConnectionOnlyAtAnEndpointThatTracksFlows(Family family) {
    node.mayHaveLostFlows();
    node.without(ALICE, EndpointOption.CONNTRACK);
    node.policyOf(ALICE).allowFrom(PEER, TCP, 80).allowFrom(BOB, TCP, 80);
    node.policyOf(BOB).allowAll();
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(80, 40000).ack())
        .dropsFor(DropReason.POLICY_DENIED);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).tcp(80, 40000).ack())
        .dropsFor(DropReason.POLICY_DENIED);
  }

  /** The other workload may have lost the connection, and only what it allows as it is passes. */
  @ParameterizedTest
  @EnumSource
  void shouldContinueAConnectionToAWorkloadThatAllowsItsPackets(Family family) {
    final byte[] byStack =
        family.packet(ALICE, BOB).from(BOB.hostMac()).to(BOB.mac()).tcp(80, 40000).ack().bytes();
    node.mayHaveLostFlows();
    node.policyOf(ALICE).allowFrom(BOB, TCP, 80);
    node.policyOf(BOB).allowAll(PolicyDirection.EGRESS);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).tcp(80, 40000).ack())
        .dropsFor(DropReason.POLICY_DENIED);
    node.forwardedToWorkload(ALICE.ifindex, BOB, byStack).dropsAtPeerFor(DropReason.POLICY_DENIED);
    node.policyOf(BOB).allowFrom(ALICE, TCP, 40000);
    node.raiseGeneration(BOB.id);
    node.forwardedToWorkload(ALICE.ifindex, BOB, byStack).dropsAtPeerFor(DropReason.POLICY_DENIED);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).tcp(80, 40000).ack()).reaches(BOB);
    assertEquals(BOB, node.flows().find(family, ALICE, 80, BOB, 40000, TCP).initiator());
  }

  @ParameterizedTest
  @EnumSource
  void shouldContinueAConnectionByARuleBesideOneThatAllowsAll(Family family) {
    node.mayHaveLostFlows();
    node.policyOf(ALICE)
        .allowAll(PolicyDirection.INGRESS)
        .allowFrom(PEER, TCP, 80)
        .allowFromAny(TCP, 8080)
        .allowTo(STRANGER, TCP, 443);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(80, 40000).ack()).passes();
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(8080, 40000).ack()).passes();
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(81, 40000).ack())
        .dropsFor(DropReason.POLICY_DENIED);
  }

  @ParameterizedTest
  @EnumSource
  void shouldKnowTheDirectionWhereOnlyOneSideMayOpenTheConnection(Family family) {
    node.policyOf(ALICE).allowTo(PEER, TCP, 80);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).ack()).passes();
    node.raiseGeneration(ALICE.id);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).ack()).passes();
    assertFalse(
        node.flows()
            .find(family, ALICE, 40000, PEER, 80, TCP)
            .has(ConntrackFlag.DIRECTION_UNKNOWN));
  }

  @ParameterizedTest
  @EnumSource
  void shouldLetTheOtherSideOpenAConnectionThatIsDeniedBeforeItsFirstReply(Family family) {
    node.policyOf(ALICE).allowTo(PEER, TCP, 80).allowFrom(PEER, TCP, 40000);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).syn()).passes();
    node.policyOf(ALICE).revokeTo(PEER, TCP, 80);
    node.raiseGeneration(ALICE.id);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).syn())
        .dropsFor(DropReason.POLICY_DENIED);
    node.toWorkload(ALICE, family.packet(PEER, ALICE).tcp(80, 40000).syn()).passes();
    assertEquals(PEER, node.flows().find(family, ALICE, 40000, PEER, 80, TCP).initiator());
  }

  @ParameterizedTest
  @EnumSource
  void shouldLetTheOtherSideAskAtOnceForAConnectionInThePlaceOfADeniedOne(Family family) {
    node.policyOf(ALICE).allowTo(PEER, TCP, 80).allowFrom(PEER, TCP, 40000);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).syn()).passes();
    node.policyOf(ALICE).revokeTo(PEER, TCP, 80);
    node.raiseGeneration(ALICE.id);
    node.toWorkload(ALICE, family.packet(PEER, ALICE).tcp(80, 40000).syn()).passes();
    assertEquals(PEER, node.flows().find(family, ALICE, 40000, PEER, 80, TCP).initiator());
  }

  /** The answer to a SYN is from the middle of a connection, too. */
  @ParameterizedTest
  @EnumSource
  void shouldNotTakeTheSenderOfASynAckForTheOpener(Family family) {
    node.policyOf(ALICE).allowTo(PEER, TCP, 80).allowFrom(PEER, TCP, 40000);
    node.toWorkload(ALICE, family.packet(PEER, ALICE).tcp(80, 40000).syn().ack()).passes();
    node.policyOf(ALICE).revokeTo(PEER, TCP, 80);
    node.raiseGeneration(ALICE.id);
    node.toWorkload(ALICE, family.packet(PEER, ALICE).tcp(80, 40000).ack())
        .dropsFor(DropReason.POLICY_DENIED);
  }

  @ParameterizedTest
  @EnumSource
  void shouldDropErrorsOfAConnectionOfUnknownDirectionWhereEitherDirectionIsDenied(Family family) {
    final IpPacket error =
        family
            .packet(PEER, ALICE)
            .icmpError(
                family.unreachableType(), 1, family.packet(ALICE, PEER).tcp(80, 40000).ack());
    node.policyOf(ALICE).allowTo(PEER, TCP, 40000).allowFrom(PEER, TCP, 80);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(80, 40000).ack()).passes();
    node.raiseGeneration(ALICE.id);
    node.toWorkload(ALICE, error).passes();
    node.policyOf(ALICE).denyFrom(PEER, TCP, 80);
    node.raiseGeneration(ALICE.id);
    node.toWorkload(ALICE, error).dropsFor(DropReason.ICMP_ERROR_UNTRACKED);
  }

  @ParameterizedTest
  @EnumSource
  void shouldKeepTheConnectionWhereTheInitiatorRepeatsItsSyn(Family family) {
    node.withoutPolicy();
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).syn()).passes();
    node.toWorkload(ALICE, family.packet(PEER, ALICE).tcp(80, 40000).syn().ack()).passes();
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).syn()).passes();
    assertTrue(
        node.flows().find(family, ALICE, 40000, PEER, 80, TCP).has(ConntrackFlag.SEEN_REPLY));
  }

  /** An echo reply opens nothing, also where a request of its sender may. */
  @ParameterizedTest
  @EnumSource
  void shouldNotOpenAFlowByTheReplyOfADeniedEcho(Family family) {
    final int request = family.echoRequestType();
    node.policyOf(ALICE)
        .allowTo(PEER, family.icmp(), request)
        .allowFrom(PEER, family.icmp(), request)
        .allowFrom(PEER, family.icmp(), family.echoReplyType());
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).echoRequest(7, 1)).passes();
    node.policyOf(ALICE).revokeTo(PEER, family.icmp(), request);
    node.raiseGeneration(ALICE.id);
    for (int i = 0; i < 2; i++) {
      node.toWorkload(ALICE, family.packet(PEER, ALICE).echoReply(7, 1))
          .dropsFor(DropReason.POLICY_DENIED);
    }
    assertEquals(ALICE, node.flows().find(family, ALICE, 7, PEER, 0, family.icmp()).initiator());
  }

  @ParameterizedTest
  @EnumSource
  void shouldKeepTheStateOfAConnectionWhoseVerdictIsRenewed(Family family) {
    node.withoutPolicy();
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).syn()).passes();
    node.toWorkload(ALICE, family.packet(PEER, ALICE).tcp(80, 40000).syn().ack()).passes();
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).ack()).passes();
    node.raiseGeneration(ALICE.id);
    node.toWorkload(ALICE, family.packet(PEER, ALICE).tcp(80, 40000).ack()).passes();
    assertTrue(
        node.flows().find(family, ALICE, 40000, PEER, 80, TCP).has(ConntrackFlag.SEEN_NON_SYN));
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).fin().ack()).passes();
    node.raiseGeneration(ALICE.id);
    node.toWorkload(ALICE, family.packet(PEER, ALICE).tcp(80, 40000).ack()).passes();
    assertTrue(
        node.flows().find(family, ALICE, 40000, PEER, 80, TCP).has(ConntrackFlag.SEEN_FIN_HIGH));
  }
}
