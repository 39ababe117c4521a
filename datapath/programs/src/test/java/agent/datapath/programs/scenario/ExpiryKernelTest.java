package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.ScenarioHost.STRANGER;
import static agent.datapath.programs.scenario.ScenarioNode.ANY_LIFETIME_SEC;
import static agent.datapath.programs.scenario.ScenarioNode.DEVICE_MAC;
import static agent.datapath.programs.scenario.WorkloadPolicy.SCTP;
import static agent.datapath.programs.scenario.WorkloadPolicy.TCP;
import static agent.datapath.programs.scenario.WorkloadPolicy.UDP;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.maps.layout.ConntrackFlag;
import agent.maps.layout.DropReason;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Flows that have expired vouch for no packet; packets of other flows extend their lifetime. */
@KernelTest
class ExpiryKernelTest {
  private static final Duration PAST = Duration.ofSeconds(-1);
  private static final Duration SHORT = Duration.ofSeconds(20);

  private final ScenarioNode node = new ScenarioNode();

  @AfterEach
  void close() {
    node.close();
  }

  @ParameterizedTest
  @EnumSource
  void shouldDropTheReplyOfAnExpiredFlowOnTheFastPath(Family family) {
    node.policyOf(ALICE).allowTo(PEER, TCP, 80).allowTo(PEER, UDP, 53);
    connect(family);
    query(family);
    expire(PAST, family, 80, TCP);
    expire(PAST, family, 53, UDP);
    node.toWorkload(ALICE, family.packet(PEER, ALICE).tcp(80, 40000).ack())
        .dropsFor(DropReason.POLICY_DENIED);
    node.toWorkload(ALICE, family.packet(PEER, ALICE).udp(53, 40000))
        .dropsFor(DropReason.POLICY_DENIED);
  }

  @ParameterizedTest
  @EnumSource
  void shouldDropTheReplyOfAnExpiredFlowOnTheSlowPath(Family family) {
    node.policyOf(ALICE).allowTo(PEER, SCTP, 3868);
    node.policyOf(ALICE).allowTo(PEER, family.icmp(), family.echoRequestType());
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).sctp(40000, 3868)).passes();
    node.toWorkload(ALICE, family.packet(PEER, ALICE).sctp(3868, 40000)).passes();
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).echoRequest(7, 1)).passes();
    node.toWorkload(ALICE, family.packet(PEER, ALICE).echoReply(7, 1)).passes();
    expire(PAST, family, 3868, SCTP);
    node.flows().expireAfter(PAST, family, ALICE, 7, PEER, 0, family.icmp());
    node.toWorkload(ALICE, family.packet(PEER, ALICE).sctp(3868, 40000))
        .dropsFor(DropReason.POLICY_DENIED);
    node.toWorkload(ALICE, family.packet(PEER, ALICE).echoReply(7, 2))
        .dropsFor(DropReason.POLICY_DENIED);
  }

  @ParameterizedTest
  @EnumSource
  void shouldOpenAFlowAnewAfterItHasExpired(Family family) {
    node.policyOf(ALICE).allowTo(PEER, TCP, 80);
    connect(family);
    expire(PAST, family, 80, TCP);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).syn()).passes();
    final Flows.Flow flow = node.flows().find(family, ALICE, 40000, PEER, 80, TCP);
    assertFalse(flow.has(ConntrackFlag.SEEN_REPLY), flow::toString);
    assertFalse(flow.has(ConntrackFlag.SEEN_NON_SYN), flow::toString);
  }

  @ParameterizedTest
  @EnumSource
  void shouldNotDeliverAnExpiredFlowFromTheNetwork(Family family) {
    node.routed();
    node.policyOf(ALICE).allowTo(PEER, TCP, 80);
    connect(family);
    final IpPacket packet = family.packet(PEER, ALICE).to(DEVICE_MAC).tcp(80, 40000).ack();
    node.fromNetwork(packet).reaches(ALICE);
    expire(PAST, family, 80, TCP);
    node.fromNetwork(packet).passesUncounted();
  }

  @ParameterizedTest
  @EnumSource
  void shouldNotForwardAnErrorAboutAnExpiredFlow(Family family) {
    node.policyOf(ALICE).allowTo(PEER, UDP, 53);
    query(family);
    final IpPacket error =
        family
            .packet(STRANGER, ALICE)
            .icmpError(family.unreachableType(), 1, family.packet(ALICE, PEER).udp(40000, 53));
    node.toWorkload(ALICE, error).passes();
    expire(PAST, family, 53, UDP);
    node.toWorkload(ALICE, error).dropsFor(DropReason.ICMP_ERROR_UNTRACKED);
    node.raiseGeneration(ALICE.id);
    node.toWorkload(ALICE, error).dropsFor(DropReason.ICMP_ERROR_UNTRACKED);
  }

  @ParameterizedTest
  @EnumSource
  void shouldExtendTheLifetimeByPacketsOfBothSides(Family family) {
    node.routed();
    node.policyOf(ALICE).allowTo(PEER, TCP, 80).allowTo(PEER, UDP, 53).allowTo(PEER, SCTP, 3868);
    connect(family);
    query(family);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).sctp(40000, 3868)).passes();
    node.toWorkload(ALICE, family.packet(PEER, ALICE).sctp(3868, 40000)).passes();
    assertLifetime(family, 53, UDP, ANY_LIFETIME_SEC);
    assertLifetime(family, 3868, SCTP, ANY_LIFETIME_SEC);
    expire(SHORT, family, 53, UDP);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(40000, 53)).leaves();
    assertLifetime(family, 53, UDP, ANY_LIFETIME_SEC);
    expire(SHORT, family, 53, UDP);
    node.toWorkload(ALICE, family.packet(PEER, ALICE).udp(53, 40000)).passes();
    assertLifetime(family, 53, UDP, ANY_LIFETIME_SEC);
    expire(SHORT, family, 3868, SCTP);
    node.toWorkload(ALICE, family.packet(PEER, ALICE).sctp(3868, 40000)).passes();
    assertLifetime(family, 3868, SCTP, ANY_LIFETIME_SEC);
    expire(SHORT, family, 80, TCP);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).ack()).leaves();
    assertLifetime(family, 80, TCP, 21_600);
    expire(SHORT, family, 80, TCP);
    node.fromNetwork(family.packet(PEER, ALICE).to(DEVICE_MAC).tcp(80, 40000).ack()).reaches(ALICE);
    assertLifetime(family, 80, TCP, 21_600);
  }

  /** An entry that is written with each packet costs a cache line of each packet. */
  @ParameterizedTest
  @EnumSource
  void shouldNotWriteAnExpiryThatIsFarEnough(Family family) {
    node.policyOf(ALICE).allowTo(PEER, UDP, 53).allowTo(PEER, SCTP, 53);
    query(family);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).sctp(40000, 53)).passes();
    for (final int protocol : new int[] {UDP, SCTP}) {
      expire(Duration.ofSeconds(ANY_LIFETIME_SEC + 60), family, 53, protocol);
      final long before = expiresNs(family, protocol);
      final IpPacket packet = family.packet(ALICE, PEER);
      node.fromWorkload(ALICE, protocol == UDP ? packet.udp(40000, 53) : packet.sctp(40000, 53))
          .passes();
      assertEquals(before, expiresNs(family, protocol));
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldCloseAFlowOnTheFastPathOfTheNetwork(Family family) {
    node.routed();
    node.policyOf(ALICE).allowTo(PEER, TCP, 80);
    connect(family);
    node.fromNetwork(family.packet(PEER, ALICE).to(DEVICE_MAC).tcp(80, 40000).rst().ack())
        .reaches(ALICE);
    assertLifetime(family, 80, TCP, 10);
    expire(Duration.ofSeconds(5), family, 80, TCP);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).ack()).leaves();
    assertLifetime(family, 80, TCP, 10);
  }

  @ParameterizedTest
  @EnumSource
  void shouldGiveARenewedFlowTheLifetimeOfItsState(Family family) {
    node.policyOf(ALICE).allowTo(PEER, TCP, 80);
    connect(family);
    expire(SHORT, family, 80, TCP);
    node.raiseGeneration(ALICE.id);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).ack()).passes();
    assertLifetime(family, 80, TCP, 21_600);
    final Flows.Flow flow = node.flows().find(family, ALICE, 40000, PEER, 80, TCP);
    assertTrue(flow.has(ConntrackFlag.SEEN_REPLY), "the flow keeps its state");
    assertEquals(ALICE, flow.initiator());
  }

  /** The error quotes a packet of the responder: the verdict is that on the initiator's packets. */
  @ParameterizedTest
  @EnumSource
  void shouldForwardAnErrorAboutAReplyAfterAChangeOfPolicy(Family family) {
    node.policyOf(BOB).allowFrom(PEER, UDP, 53);
    node.toWorkload(BOB, family.packet(PEER, BOB).udp(40000, 53)).passes();
    final IpPacket reply = family.packet(BOB, PEER).udp(53, 40000);
    node.fromWorkload(BOB, reply).passes();
    final IpPacket error = family.packet(PEER, BOB).icmpError(family.unreachableType(), 1, reply);
    node.toWorkload(BOB, error).passes();
    node.raiseGeneration(BOB.id);
    node.toWorkload(BOB, error).passes();
  }

  private long expiresNs(Family family, int protocol) {
    return node.flows().find(family, ALICE, 40000, PEER, 53, protocol).expiresNs();
  }

  private void connect(Family family) {
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).syn()).passes();
    node.toWorkload(ALICE, family.packet(PEER, ALICE).tcp(80, 40000).syn().ack()).passes();
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).ack()).isForwarded();
  }

  private void query(Family family) {
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(40000, 53)).passes();
    node.toWorkload(ALICE, family.packet(PEER, ALICE).udp(53, 40000)).passes();
  }

  private void expire(Duration lifetime, Family family, int port, int protocol) {
    node.flows().expireAfter(lifetime, family, ALICE, 40000, PEER, port, protocol);
  }

  private void assertLifetime(Family family, int port, int protocol, long seconds) {
    final Flows.Flow flow = node.flows().find(family, ALICE, 40000, PEER, port, protocol);
    final long left = flow.lifetime().toMillis();
    assertTrue(
        left <= seconds * 1000 && left > seconds * 1000 - 5000,
        () -> seconds + " s expected, " + left + " ms left: " + flow);
  }
}
