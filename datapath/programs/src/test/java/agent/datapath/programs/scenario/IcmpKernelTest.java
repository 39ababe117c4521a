package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.ScenarioHost.STRANGER;
import static agent.datapath.programs.scenario.WorkloadPolicy.TCP;
import static agent.datapath.programs.scenario.WorkloadPolicy.UDP;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import agent.maps.layout.DropReason;
import agent.maps.layout.EndpointOption;
import agent.maps.layout.PolicyDirection;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * ICMP: echo is tracked as a flow, an error belongs to the quoted flow, and policy is evaluated for
 * each other message.
 */
@KernelTest
class IcmpKernelTest {
  private final ScenarioNode node = new ScenarioNode();

  @AfterEach
  void close() {
    node.close();
  }

  @ParameterizedTest
  @EnumSource
  void shouldTrackEchoByItsIdentifier(Family family) {
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).echoRequest(7, 1))
        .dropsFor(DropReason.POLICY_DENIED);
    node.policyOf(ALICE).allowTo(PEER, family.icmp(), family.echoRequestType());
    node.raiseGeneration(ALICE.id);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).echoRequest(7, 1)).passes();
    assertNotNull(node.flows().find(family, ALICE, 7, PEER, 0, family.icmp()));
    node.toWorkload(ALICE, family.packet(PEER, ALICE).echoReply(7, 1)).passes();
    node.toWorkload(ALICE, family.packet(PEER, ALICE).echoReply(8, 1))
        .dropsFor(DropReason.POLICY_DENIED);
    assertEquals(1, node.flows().count());
  }

  @ParameterizedTest
  @EnumSource
  void shouldEvaluatePolicyForAnEchoRequestOfTheResponder(Family family) {
    node.policyOf(ALICE).allowTo(PEER, family.icmp(), family.echoRequestType());
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).echoRequest(7, 1)).passes();
    node.toWorkload(ALICE, family.packet(PEER, ALICE).echoRequest(7, 1))
        .dropsFor(DropReason.POLICY_DENIED);
    node.toWorkload(ALICE, family.packet(PEER, ALICE).echoReply(7, 1)).passes();
  }

  @ParameterizedTest
  @EnumSource
  void shouldCreateNoEntryForAnUnsolicitedEchoReply(Family family) {
    node.policyOf(ALICE).allowFrom(PEER, family.icmp(), family.echoReplyType());
    node.toWorkload(ALICE, family.packet(PEER, ALICE).echoReply(7, 1)).passes();
    assertEquals(0, node.flows().count());
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).echoRequest(7, 1))
        .dropsFor(DropReason.POLICY_DENIED);
  }

  @ParameterizedTest
  @EnumSource
  void shouldDeliverEchoBetweenWorkloads(Family family) {
    node.withoutPolicy();
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).echoRequest(7, 1)).reaches(BOB);
    node.fromWorkload(BOB, family.packet(BOB, ALICE).echoReply(7, 1)).reaches(ALICE);
  }

  @ParameterizedTest
  @EnumSource
  void shouldAllowAnErrorAboutATrackedFlowFromAnyHost(Family family) {
    node.policyOf(ALICE).allowTo(PEER, TCP, 80);
    final IpPacket syn = family.packet(ALICE, PEER).tcp(40000, 80).syn();
    node.fromWorkload(ALICE, syn).passes();
    node.toWorkload(ALICE, error(family, STRANGER, ALICE, syn)).passes();
    node.toWorkload(ALICE, error(family, PEER, ALICE, syn)).passes();
    assertEquals(1, node.flows().count());
  }

  @ParameterizedTest
  @EnumSource
  void shouldDropAnErrorAboutAnUntrackedFlow(Family family) {
    node.policyOf(ALICE).allowTo(PEER, TCP, 80);
    final IpPacket syn = family.packet(ALICE, PEER).tcp(40000, 80).syn();
    node.toWorkload(ALICE, error(family, PEER, ALICE, syn))
        .dropsFor(DropReason.ICMP_ERROR_UNTRACKED);
  }

  @ParameterizedTest
  @EnumSource
  void shouldDropAnErrorThatQuotesAPacketOfAnotherSender(Family family) {
    node.policyOf(ALICE).allowTo(PEER, TCP, 80);
    node.policyOf(BOB).allowFrom(PEER, TCP, 80);
    final IpPacket syn = family.packet(ALICE, PEER).tcp(40000, 80).syn();
    node.fromWorkload(ALICE, syn).passes();
    node.toWorkload(BOB, error(family, PEER, BOB, syn)).dropsFor(DropReason.ICMP_ERROR_UNTRACKED);
  }

  @ParameterizedTest
  @EnumSource
  void shouldDropAnErrorAboutADeniedFlow(Family family) {
    node.policyOf(ALICE).allowTo(PEER, UDP, 53);
    final IpPacket query = family.packet(ALICE, PEER).udp(40000, 53);
    node.fromWorkload(ALICE, query).passes();
    node.policyOf(ALICE).revokeTo(PEER, UDP, 53);
    node.raiseGeneration(ALICE.id);
    node.toWorkload(ALICE, error(family, PEER, ALICE, query))
        .dropsFor(DropReason.ICMP_ERROR_UNTRACKED);
    node.fromWorkload(ALICE, query).dropsFor(DropReason.POLICY_DENIED);
    node.toWorkload(ALICE, error(family, PEER, ALICE, query))
        .dropsFor(DropReason.ICMP_ERROR_UNTRACKED);
  }

  @ParameterizedTest
  @EnumSource
  void shouldDeliverAnErrorOfAWorkloadAboutItsFlowToTheOtherWorkload(Family family) {
    node.policyOf(ALICE).allowTo(BOB, UDP, 53);
    node.policyOf(BOB).allowFrom(ALICE, UDP, 53);
    final IpPacket query = family.packet(ALICE, BOB).udp(40000, 53);
    node.fromWorkload(ALICE, query).reaches(BOB);
    node.fromWorkload(BOB, error(family, BOB, ALICE, query)).reaches(ALICE);
  }

  @ParameterizedTest
  @EnumSource
  void shouldDropAnErrorOfAWorkloadAboutAForeignFlow(Family family) {
    node.policyOf(ALICE).allowTo(PEER, UDP, 53);
    final IpPacket query = family.packet(ALICE, PEER).udp(40000, 53);
    node.fromWorkload(ALICE, query).passes();
    node.fromWorkload(BOB, error(family, BOB, ALICE, query))
        .dropsFor(DropReason.ICMP_ERROR_UNTRACKED);
  }

  @ParameterizedTest
  @EnumSource
  void shouldForwardAnErrorAboutEcho(Family family) {
    node.policyOf(ALICE).allowTo(PEER, family.icmp(), family.echoRequestType());
    final IpPacket ping = family.packet(ALICE, PEER).echoRequest(7, 1);
    node.fromWorkload(ALICE, ping).passes();
    node.toWorkload(ALICE, error(family, STRANGER, ALICE, ping)).passes();
  }

  @ParameterizedTest
  @EnumSource
  void shouldAllowAnUntrackedErrorWhoseTypePolicyAllows(Family family) {
    node.policyOf(ALICE).allowFrom(PEER, family.icmp(), family.unreachableType());
    final IpPacket syn = family.packet(ALICE, PEER).tcp(40000, 80).syn();
    node.toWorkload(ALICE, error(family, PEER, ALICE, syn)).passes();
    assertEquals(0, node.flows().count());
  }

  @ParameterizedTest
  @EnumSource
  void shouldEvaluatePolicyByTypeForEveryOtherMessage(Family family) {
    final byte[] body = new byte[16];
    final int type = family.timestampType();
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).icmp(type, 0, body))
        .dropsFor(DropReason.POLICY_DENIED);
    node.policyOf(ALICE).allowTo(PEER, family.icmp(), type);
    node.raiseGeneration(ALICE.id);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).icmp(type, 0, body)).passes();
    assertEquals(0, node.flows().count());
  }

  @ParameterizedTest
  @EnumSource
  void shouldEvaluatePolicyForBothDirectionsWithoutConntrack(Family family) {
    node.without(EndpointOption.CONNTRACK);
    node.policyOf(ALICE).allowTo(PEER, family.icmp(), family.echoRequestType());
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).echoRequest(7, 1)).passes();
    node.toWorkload(ALICE, family.packet(PEER, ALICE).echoReply(7, 1))
        .dropsFor(DropReason.POLICY_DENIED);
    node.policyOf(ALICE).allowAll(PolicyDirection.INGRESS);
    node.raiseGeneration(ALICE.id);
    node.toWorkload(ALICE, family.packet(PEER, ALICE).echoReply(7, 1)).passes();
    assertEquals(0, node.flows().count());
  }

  private static IpPacket error(Family family, ScenarioHost from, ScenarioHost to, IpPacket about) {
    return family.packet(from, to).icmpError(family.unreachableType(), 1, about);
  }
}
