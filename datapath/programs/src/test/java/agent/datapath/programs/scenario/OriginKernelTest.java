package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.HOST;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.ScenarioHost.STRANGER;
import static agent.datapath.programs.scenario.WorkloadPolicy.TCP;
import static agent.datapath.programs.scenario.WorkloadPolicy.UDP;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;

import agent.maps.layout.ConntrackFlag;
import agent.maps.layout.DropReason;
import agent.maps.layout.EndpointOption;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Packets to a workload whose source is an address of this node, by the interface that received
 * them: the interface of a workload, a device of the network, or none for what the node sends.
 */
@KernelTest
class OriginKernelTest {
  private static final int NETWORK = 99;
  private static final int NONE = 0;

  private final ScenarioNode node = new ScenarioNode();

  @AfterEach
  void close() {
    node.close();
  }

  @ParameterizedTest
  @EnumSource
  void shouldBelieveTheAddressOfAnEndpointFromItsInterfaceOnly(Family family) {
    node.policyOf(ALICE).allowTo(BOB, TCP, 80);
    node.policyOf(BOB).allowFrom(ALICE, TCP, 80);
    final IpPacket syn = family.packet(ALICE, BOB).tcp(40000, 80).syn();
    received(NETWORK, syn).dropsFor(DropReason.POLICY_DENIED);
    received(NONE, syn).dropsFor(DropReason.POLICY_DENIED);
    received(BOB.ifindex, syn).dropsFor(DropReason.POLICY_DENIED);
    assertEquals(0, node.flows().count());
    received(ALICE.ifindex, syn).passes();
    assertEquals(ALICE.identity, flow(family, ALICE, 40000, 80).initiatorIdentity());
  }

  @ParameterizedTest
  @EnumSource
  void shouldBelieveTheAddressOfThisNodeFromItsSocketsOnly(Family family) {
    node.policyOf(BOB).allowFrom(HOST, TCP, 22);
    final IpPacket syn = family.packet(HOST, BOB).tcp(40000, 22).syn();
    received(NETWORK, syn).dropsFor(DropReason.POLICY_DENIED);
    received(ALICE.ifindex, syn).dropsFor(DropReason.POLICY_DENIED);
    received(NONE, syn).passes();
    assertEquals(HOST.identity, flow(family, HOST, 40000, 22).initiatorIdentity());
  }

  @ParameterizedTest
  @EnumSource
  void shouldJudgeForgedStatelessPacketsAsOfTheWorld(Family family) {
    node.without(EndpointOption.CONNTRACK);
    node.policyOf(ALICE).allowTo(BOB, family.icmp(), family.timestampType());
    node.policyOf(BOB)
        .allowFrom(HOST, family.icmp(), family.timestampType())
        .allowFrom(ALICE, family.icmp(), family.timestampType());
    for (final ScenarioHost source : List.of(ALICE, HOST)) {
      final IpPacket packet =
          family.packet(source, BOB).icmp(family.timestampType(), 0, new byte[16]);
      received(NETWORK, packet).dropsFor(DropReason.POLICY_DENIED);
      received(source.ifindex, packet).passes();
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldNotFollowAFlowOfTwoEndpointsWithAForgedPacket(Family family) {
    connectLocally(family);
    for (final IpPacket forged :
        List.of(
            family.packet(ALICE, BOB).tcp(40000, 80).ack(),
            family.packet(ALICE, BOB).tcp(40000, 80).ack().rst(),
            family.packet(ALICE, BOB).tcp(40000, 80).syn())) {
      received(NETWORK, forged).dropsFor(DropReason.POLICY_DENIED);
    }
    node.raiseGeneration(ALICE.id);
    received(NETWORK, family.packet(ALICE, BOB).tcp(40000, 80).ack())
        .dropsFor(DropReason.POLICY_DENIED);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).tcp(40000, 80).ack()).reaches(BOB);
    received(ALICE.ifindex, family.packet(ALICE, BOB).tcp(40000, 80).ack()).passes();
    received(NONE, family.packet(ALICE, BOB).tcp(40000, 80).ack()).passes();
    final Flows.Flow flow = flow(family, ALICE, 40000, 80);
    assertFalse(flow.has(ConntrackFlag.SEEN_RST));
    assertFalse(flow.has(ConntrackFlag.DENIED));
    assertEquals(ALICE.identity, flow.initiatorIdentity());
  }

  @ParameterizedTest
  @EnumSource
  void shouldLeaveNoStateForAForgedPacketThatTheWorldMaySend(Family family) {
    node.policyOf(BOB).allowFrom(STRANGER, TCP, 80).allowFrom(STRANGER, UDP, 53);
    received(NETWORK, family.packet(ALICE, BOB).tcp(40000, 80).syn()).passes();
    assertNull(node.flows().find(family, ALICE, 40000, BOB, 80, TCP));
    final byte[] first =
        family.packet(ALICE, BOB).id(7).udp(40000, 53).payloadOf(1200).fragments(512).get(0);
    node.forwardedToWorkload(NETWORK, BOB, first).passes();
    final String map = family == Family.IPV4 ? "fragments4" : "fragments6";
    assertEquals(0, node.map(map).countEntries());
    connectLocally(family);
    received(NETWORK, family.packet(ALICE, BOB).tcp(40000, 80).ack().rst()).passes();
    assertFalse(flow(family, ALICE, 40000, 80).has(ConntrackFlag.SEEN_RST));
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).tcp(40000, 80).fin().ack()).reaches(BOB);
    received(NETWORK, family.packet(ALICE, BOB).tcp(40000, 80).syn()).passes();
    assertEquals(ALICE.identity, flow(family, ALICE, 40000, 80).initiatorIdentity());
  }

  @ParameterizedTest
  @EnumSource
  void shouldNotFollowAFlowOfThisNodeWithAForgedPacket(Family family) {
    node.policyOf(BOB).allowFrom(HOST, TCP, 22);
    received(NONE, family.packet(HOST, BOB).tcp(40000, 22).syn()).passes();
    node.fromWorkload(BOB, family.packet(BOB, HOST).tcp(22, 40000).syn().ack()).passes();
    received(NONE, family.packet(HOST, BOB).tcp(40000, 22).ack()).passes();
    for (int i = 0; i < 2; i++) {
      received(NETWORK, family.packet(HOST, BOB).tcp(40000, 22).ack())
          .dropsFor(DropReason.POLICY_DENIED);
      received(NETWORK, family.packet(HOST, BOB).tcp(40000, 22).ack().rst())
          .dropsFor(DropReason.POLICY_DENIED);
      node.raiseGeneration(BOB.id);
      node.fromWorkload(BOB, family.packet(BOB, HOST).tcp(22, 40000).ack()).passes();
      received(NONE, family.packet(HOST, BOB).tcp(40000, 22).ack()).passes();
    }
    assertFalse(flow(family, HOST, 40000, 22).has(ConntrackFlag.SEEN_RST));
  }

  @ParameterizedTest
  @EnumSource
  void shouldNotReopenAFlowOfThisNodeWithAForgedPacket(Family family) {
    node.policyOf(BOB).allowFrom(HOST, TCP, 22).allowFrom(STRANGER, TCP, 22);
    received(NONE, family.packet(HOST, BOB).tcp(40000, 22).syn()).passes();
    received(NONE, family.packet(HOST, BOB).tcp(40000, 22).fin().ack()).passes();
    received(NETWORK, family.packet(HOST, BOB).tcp(40000, 22).syn()).passes();
    assertEquals(HOST.identity, flow(family, HOST, 40000, 22).initiatorIdentity());
  }

  @ParameterizedTest
  @EnumSource
  void shouldBindAFlowToThisNodeToItsSocketsByTheirFirstAnswer(Family family) {
    connectToNode(family, NONE);
    received(NETWORK, family.packet(HOST, BOB).tcp(22, 40000).ack())
        .dropsFor(DropReason.POLICY_DENIED);
    received(NONE, family.packet(HOST, BOB).tcp(22, 40000).ack()).passes();
    node.raiseGeneration(BOB.id);
    received(NETWORK, family.packet(HOST, BOB).tcp(22, 40000).ack())
        .dropsFor(DropReason.POLICY_DENIED);
    received(NONE, family.packet(HOST, BOB).tcp(22, 40000).ack()).passes();
    received(NETWORK, family.packet(HOST, BOB).tcp(22, 40000).ack())
        .dropsFor(DropReason.POLICY_DENIED);
  }

  @ParameterizedTest
  @EnumSource
  void shouldBindAnEchoToThisNode(Family family) {
    node.policyOf(BOB).allowTo(HOST, family.icmp(), family.echoRequestType());
    node.fromWorkload(BOB, family.packet(BOB, HOST).echoRequest(7, 1)).passes();
    received(NONE, family.packet(HOST, BOB).echoReply(7, 1)).passes();
    received(NETWORK, family.packet(HOST, BOB).echoReply(7, 2)).dropsFor(DropReason.POLICY_DENIED);
    received(NONE, family.packet(HOST, BOB).echoReply(7, 2)).passes();
  }

  @ParameterizedTest
  @EnumSource
  void shouldBindAFlowToThisNodeOnTheSlowPath(Family family) {
    node.policyOf(BOB).allowTo(HOST, TCP, 22);
    node.fromWorkload(BOB, family.packet(BOB, HOST).tcp(40000, 22).syn()).passes();
    node.raiseGeneration(BOB.id);
    received(NONE, family.packet(HOST, BOB).tcp(22, 40000).syn().ack()).passes();
    received(NETWORK, family.packet(HOST, BOB).tcp(22, 40000).ack())
        .dropsFor(DropReason.POLICY_DENIED);
  }

  @ParameterizedTest
  @EnumSource
  void shouldFollowAFlowToThisNodeThatTheStackTranslates(Family family) {
    connectToNode(family, NETWORK);
    node.raiseGeneration(BOB.id);
    received(NETWORK, family.packet(HOST, BOB).tcp(22, 40000).ack()).passes();
    node.raiseGeneration(0);
    node.fromWorkload(BOB, family.packet(BOB, HOST).tcp(40000, 22).ack()).passes();
    received(NETWORK, family.packet(HOST, BOB).tcp(22, 40000).ack()).passes();
    assertEquals(
        HOST.identity, node.flows().find(family, BOB, 40000, HOST, 22, TCP).responderIdentity());
  }

  @ParameterizedTest
  @EnumSource
  void shouldJudgeMasqueradedFlowsAsOfTheWorldInBothDirections(Family family) {
    node.policyOf(BOB).allowFrom(STRANGER, TCP, 80);
    received(NETWORK, family.packet(HOST, BOB).tcp(40000, 80).syn()).passes();
    node.fromWorkload(BOB, family.packet(BOB, HOST).tcp(80, 40000).syn().ack()).passes();
    received(NETWORK, family.packet(HOST, BOB).tcp(40000, 80).ack()).passes();
    assertEquals(STRANGER.identity, flow(family, HOST, 40000, 80).initiatorIdentity());
    node.raiseGeneration(BOB.id);
    node.fromWorkload(BOB, family.packet(BOB, HOST).tcp(80, 40000).ack()).passes();
    node.policyOf(BOB).allowFrom(HOST, TCP, 80).denyFrom(STRANGER, TCP, 80);
    node.raiseGeneration(BOB.id);
    node.fromWorkload(BOB, family.packet(BOB, HOST).tcp(80, 40000).ack())
        .dropsFor(DropReason.POLICY_DENY_RULE);
    received(NETWORK, family.packet(HOST, BOB).tcp(40000, 80).ack())
        .dropsFor(DropReason.POLICY_DENY_RULE);
  }

  @ParameterizedTest
  @EnumSource
  void shouldFollowThePeerToItsNextInterface(Family family) {
    connectLocally(family);
    node.move(ALICE, 77);
    received(ALICE.ifindex, family.packet(ALICE, BOB).tcp(40000, 80).ack())
        .dropsFor(DropReason.POLICY_DENIED);
    received(77, family.packet(ALICE, BOB).tcp(40000, 80).ack()).passes();
    received(77, family.packet(ALICE, BOB).tcp(40000, 80).ack()).passes();
    assertEquals(ALICE.identity, flow(family, ALICE, 40000, 80).initiatorIdentity());
  }

  @ParameterizedTest
  @EnumSource
  void shouldReplaceTheFlowOfAnEndpointWhoseAddressIsElsewhereNow(Family family) {
    connectLocally(family);
    node.policyOf(BOB).allowFrom(STRANGER, TCP, 80);
    node.setIpcacheEntry(ALICE, STRANGER.identity, 0);
    node.reassign(ALICE);
    received(NETWORK, family.packet(ALICE, BOB).tcp(40000, 80).ack()).passes();
    assertEquals(STRANGER.identity, flow(family, ALICE, 40000, 80).initiatorIdentity());
  }

  @ParameterizedTest
  @EnumSource
  void shouldReplaceTheFlowOfAnEndpointWhoseAddressHasAnotherId(Family family) {
    connectLocally(family);
    node.policyOf(ALICE).allowFrom(STRANGER, TCP, 80);
    node.setIpcacheEntry(ALICE, STRANGER.identity, 0);
    node.forwardedToWorkload(NETWORK, ALICE, family.packet(ALICE, BOB).tcp(40000, 80).ack().bytes())
        .passes();
    assertEquals(STRANGER.identity, flow(family, ALICE, 40000, 80).initiatorIdentity());
  }

  @ParameterizedTest
  @EnumSource
  void shouldDropErrorsOfTheNetworkAboutFlowsThatDoNotLeaveTheNode(Family family) {
    connectLocally(family);
    final IpPacket answer = family.packet(BOB, ALICE).tcp(80, 40000).ack();
    for (final ScenarioHost source : List.of(ALICE, HOST, STRANGER)) {
      received(NETWORK, error(family, source, answer)).dropsFor(DropReason.ICMP_ERROR_UNTRACKED);
    }
    received(ALICE.ifindex, error(family, ALICE, answer)).passes();
    received(NONE, error(family, HOST, answer)).passes();
    connectToNode(family, NONE);
    final IpPacket request = family.packet(BOB, HOST).tcp(40000, 22).ack();
    received(NETWORK, error(family, HOST, request)).dropsFor(DropReason.ICMP_ERROR_UNTRACKED);
    received(NONE, error(family, HOST, request)).passes();
    node.policyOf(BOB).allowTo(PEER, TCP, 80);
    final IpPacket out = family.packet(BOB, PEER).tcp(40000, 80).syn();
    node.fromWorkload(BOB, out).passes();
    received(NETWORK, error(family, STRANGER, out)).passes();
  }

  private Outcome received(int ifindex, IpPacket packet) {
    return node.forwardedToWorkload(ifindex, BOB, packet.bytes());
  }

  private Flows.Flow flow(Family family, ScenarioHost initiator, int from, int to) {
    return node.flows().find(family, initiator, from, BOB, to, TCP);
  }

  private void connectLocally(Family family) {
    node.policyOf(ALICE).allowTo(BOB, TCP, 80);
    node.policyOf(BOB).allowFrom(ALICE, TCP, 80);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).tcp(40000, 80).syn()).reaches(BOB);
    node.fromWorkload(BOB, family.packet(BOB, ALICE).tcp(80, 40000).syn().ack()).reaches(ALICE);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).tcp(40000, 80).ack()).reaches(BOB);
  }

  /** Opens a flow of BOB to an address of this node, whose answers an interface receives. */
  private void connectToNode(Family family, int answeredBy) {
    node.policyOf(BOB).allowTo(HOST, TCP, 22);
    node.fromWorkload(BOB, family.packet(BOB, HOST).tcp(40000, 22).syn()).passes();
    received(answeredBy, family.packet(HOST, BOB).tcp(22, 40000).syn().ack()).passes();
    node.fromWorkload(BOB, family.packet(BOB, HOST).tcp(40000, 22).ack()).passes();
    received(answeredBy, family.packet(HOST, BOB).tcp(22, 40000).ack()).passes();
  }

  private static IpPacket error(Family family, ScenarioHost source, IpPacket quoted) {
    return family.packet(source, BOB).icmpError(family.unreachableType(), 1, quoted);
  }
}
