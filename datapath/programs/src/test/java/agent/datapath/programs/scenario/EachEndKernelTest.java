package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.WorkloadPolicy.TCP;
import static agent.datapath.programs.scenario.WorkloadPolicy.UDP;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.maps.layout.ConntrackFlag;
import agent.maps.layout.DropReason;
import agent.maps.layout.EndpointOption;
import agent.maps.layout.PolicyDirection;
import agent.testkit.KernelTest;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Each end of a flow between two workloads is judged and counted by its own options. */
@KernelTest
class EachEndKernelTest {
  private final ScenarioNode node = new ScenarioNode();

  @AfterEach
  void close() {
    node.close();
  }

  @ParameterizedTest
  @EnumSource
  void shouldPassTheAnswersOfAnEndpointThatTracksToOneThatDoesNot(Family family) {
    node.without(ALICE, EndpointOption.CONNTRACK);
    node.policyOf(ALICE).allowTo(BOB, TCP, 80).allowFrom(BOB, TCP, 40000);
    node.policyOf(BOB).allowFrom(ALICE, TCP, 80);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).tcp(40000, 80).syn()).reaches(BOB);
    node.fromWorkload(BOB, family.packet(BOB, ALICE).tcp(80, 40000).syn().ack()).reaches(ALICE);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).tcp(40000, 80).ack()).reaches(BOB);
    node.raiseGeneration(BOB.id);
    node.fromWorkload(BOB, family.packet(BOB, ALICE).tcp(80, 40000).ack()).reaches(ALICE);
    node.fromWorkload(BOB, family.packet(BOB, ALICE).tcp(80, 40000).ack()).reaches(ALICE);
  }

  @ParameterizedTest
  @EnumSource
  void shouldJudgeEachPacketAtTheEndThatDoesNotTrack(Family family) {
    node.without(ALICE, EndpointOption.CONNTRACK);
    node.policyOf(ALICE).allowTo(BOB, TCP, 80);
    node.policyOf(BOB).allowFrom(ALICE, TCP, 80);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).tcp(40000, 80).syn()).reaches(BOB);
    for (int i = 0; i < 2; i++) {
      node.fromWorkload(BOB, family.packet(BOB, ALICE).tcp(80, 40000).syn().ack())
          .dropsAtPeerFor(DropReason.POLICY_DENIED);
      node.raiseGeneration(BOB.id);
    }
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).tcp(40000, 80).ack()).reaches(BOB);
    final Flows.Flow flow = node.flows().find(family, ALICE, 40000, BOB, 80, TCP);
    assertTrue(
        flow.has(ConntrackFlag.UNTRACKED_LOW) != flow.has(ConntrackFlag.UNTRACKED_HIGH),
        flow::toString);
  }

  @ParameterizedTest
  @EnumSource
  void shouldJudgeAnEchoReplyAsSuchAtTheEndThatDoesNotTrack(Family family) {
    node.without(ALICE, EndpointOption.CONNTRACK);
    node.policyOf(ALICE).allowTo(BOB, family.icmp(), family.echoRequestType());
    node.policyOf(BOB).allowFrom(ALICE, family.icmp(), family.echoRequestType());
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).echoRequest(7, 1)).reaches(BOB);
    node.fromWorkload(BOB, family.packet(BOB, ALICE).echoReply(7, 1))
        .dropsAtPeerFor(DropReason.POLICY_DENIED);
    node.policyOf(ALICE).allowFrom(BOB, family.icmp(), family.echoReplyType());
    node.raiseGeneration(ALICE.id);
    for (int i = 0; i < 2; i++) { // the first renews the verdict of the end that tracks
      node.fromWorkload(BOB, family.packet(BOB, ALICE).echoReply(7, 1)).reaches(ALICE);
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldCountADropAtTheEndWhosePolicyItIs(Family family) {
    node.policyOf(ALICE).allowAll();
    node.policyOf(BOB).allowAll(PolicyDirection.EGRESS);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).udp(40000, 53))
        .dropsAtPeerFor(DropReason.POLICY_DENIED);
    node.policyOf(ALICE).denyTo(BOB, UDP, 53);
    node.raiseGeneration(ALICE.id);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).udp(40000, 53))
        .dropsFor(DropReason.POLICY_DENY_RULE);
  }

  @ParameterizedTest
  @EnumSource
  void shouldCountThePacketsOfADeniedFlowAtTheEndThatDeniesIt(Family family) {
    node.policyOf(ALICE).allowAll();
    node.policyOf(BOB).allowFrom(ALICE, UDP, 53);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).udp(40000, 53)).reaches(BOB);
    node.policyOf(BOB).denyFrom(ALICE, UDP, 53);
    node.raiseGeneration(BOB.id);
    for (int i = 0; i < 3; i++) {
      node.fromWorkload(ALICE, family.packet(ALICE, BOB).udp(40000, 53))
          .dropsAtPeerFor(DropReason.POLICY_DENY_RULE);
    }
    assertEquals(1, node.flows().count());
  }

  @ParameterizedTest
  @EnumSource
  void shouldCountADropOfTheOnlyEndpointAtItself(Family family) {
    node.toWorkload(BOB, family.packet(PEER, BOB).udp(40000, 53))
        .dropsFor(DropReason.POLICY_DENIED);
    node.fromWorkload(BOB, family.packet(BOB, PEER).udp(40000, 53))
        .dropsFor(DropReason.POLICY_DENIED);
  }

  @ParameterizedTest
  @EnumSource
  void shouldJudgeEachPacketAtTheResponderThatDoesNotTrack(Family family) {
    node.without(BOB, EndpointOption.CONNTRACK);
    node.policyOf(ALICE).allowTo(BOB, TCP, 80);
    node.policyOf(BOB).allowFrom(ALICE, TCP, 80).allowTo(ALICE, TCP, 40000);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).tcp(40000, 80).syn()).reaches(BOB);
    node.fromWorkload(BOB, family.packet(BOB, ALICE).tcp(80, 40000).syn().ack()).reaches(ALICE);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).tcp(40000, 80).ack()).reaches(BOB);
    node.policyOf(BOB).revokeFrom(ALICE, TCP, 80);
    node.raiseGeneration(BOB.id);
    for (int i = 0; i < 2; i++) { // the first renews the verdict of the end that tracks
      node.fromWorkload(ALICE, family.packet(ALICE, BOB).tcp(40000, 80).ack())
          .dropsAtPeerFor(DropReason.POLICY_DENIED);
    }
    node.fromWorkload(BOB, family.packet(BOB, ALICE).tcp(80, 40000).ack()).reaches(ALICE);
    node.policyOf(BOB).revokeTo(ALICE, TCP, 40000);
    node.raiseGeneration(BOB.id);
    for (int i = 0; i < 2; i++) {
      node.fromWorkload(BOB, family.packet(BOB, ALICE).tcp(80, 40000).ack())
          .dropsFor(DropReason.POLICY_DENIED);
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldNotJudgeAFlowByThePolicyOfTheEndThatDoesNotTrack(Family family) {
    node.without(ALICE, EndpointOption.CONNTRACK);
    node.policyOf(ALICE).allowTo(BOB, TCP, 80).allowFrom(BOB, TCP, 40000);
    node.policyOf(BOB).allowFrom(ALICE, TCP, 80);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).tcp(40000, 80).syn()).reaches(BOB);
    node.policyOf(ALICE).revokeTo(BOB, TCP, 80);
    for (int i = 0; i < 2; i++) {
      node.raiseGeneration(ALICE.id);
      node.fromWorkload(BOB, family.packet(BOB, ALICE).tcp(80, 40000).ack()).reaches(ALICE);
      node.fromWorkload(ALICE, family.packet(ALICE, BOB).tcp(40000, 80).ack())
          .dropsFor(DropReason.POLICY_DENIED);
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldStoreNoFlowWhereNeitherEndTracks(Family family) {
    node.without(EndpointOption.CONNTRACK);
    node.policyOf(ALICE).allowTo(BOB, UDP, 53);
    node.policyOf(BOB).allowFrom(ALICE, UDP, 53);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).udp(40000, 53)).reaches(BOB);
    assertEquals(0, node.flows().count());
    node.fromWorkload(BOB, family.packet(BOB, ALICE).udp(53, 40000))
        .dropsFor(DropReason.POLICY_DENIED);
  }

  @ParameterizedTest
  @EnumSource
  void shouldCountADropWithinAConnectionAtTheEndWhosePolicyItIs(Family family) {
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).tcp(40000, 80).ack())
        .dropsFor(DropReason.POLICY_DENIED);
    node.policyOf(ALICE).allowFrom(BOB, TCP, 40000);
    node.policyOf(BOB).allowFrom(ALICE, TCP, 80);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).tcp(40000, 80).ack())
        .dropsFor(DropReason.POLICY_DENIED);
    node.policyOf(ALICE).allowTo(BOB, TCP, 81);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).tcp(40000, 81).ack())
        .dropsAtPeerFor(DropReason.POLICY_DENIED);
  }

  /** Whether the segment answers a lost connection is asked of the other end, too. */
  @ParameterizedTest
  @EnumSource
  void shouldCountADropAtTheEndThatDeniesWhereFlowsMayBeLost(Family family) {
    node.mayHaveLostFlows();
    node.policyOf(ALICE).allowFrom(BOB, TCP, 40000); // and BOB takes nothing of ALICE
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).tcp(40000, 80).ack())
        .dropsFor(DropReason.POLICY_DENIED);
    node.policyOf(BOB).allowFrom(ALICE, TCP, 80);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).tcp(40000, 81).ack())
        .dropsFor(DropReason.POLICY_DENIED);
  }

  @ParameterizedTest
  @EnumSource
  void shouldCountTheDropOfAnAnswerAtTheEndWhosePolicyDeniesTheFlow(Family family) {
    node.policyOf(ALICE).allowTo(BOB, UDP, 53);
    node.policyOf(BOB).allowFrom(ALICE, UDP, 53);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).udp(40000, 53)).reaches(BOB);
    node.policyOf(ALICE).revokeTo(BOB, UDP, 53);
    node.raiseGeneration(ALICE.id);
    node.fromWorkload(BOB, family.packet(BOB, ALICE).udp(53, 40000))
        .dropsAtPeerFor(DropReason.POLICY_DENIED);
  }

  @ParameterizedTest
  @EnumSource
  void shouldCountThePacketsOfADeniedFlowAtTheInitiatorThatDeniesIt(Family family) {
    node.policyOf(ALICE).allowTo(BOB, TCP, 80);
    node.policyOf(BOB).allowFrom(ALICE, TCP, 80);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).tcp(40000, 80).syn()).reaches(BOB);
    node.policyOf(ALICE).denyTo(BOB, TCP, 80);
    node.raiseGeneration(ALICE.id);
    for (int i = 0; i < 2; i++) {
      node.fromWorkload(ALICE, family.packet(ALICE, BOB).tcp(40000, 80).ack())
          .dropsFor(DropReason.POLICY_DENY_RULE);
      node.fromWorkload(BOB, family.packet(BOB, ALICE).tcp(80, 40000).ack())
          .dropsAtPeerFor(DropReason.POLICY_DENY_RULE);
    }
  }
}
