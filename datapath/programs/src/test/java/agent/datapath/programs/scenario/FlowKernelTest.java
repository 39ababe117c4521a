package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.HOST;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.ScenarioHost.STRANGER;
import static agent.datapath.programs.scenario.WorkloadPolicy.SCTP;
import static agent.datapath.programs.scenario.WorkloadPolicy.TCP;
import static agent.datapath.programs.scenario.WorkloadPolicy.UDP;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.maps.layout.ConntrackFlag;
import agent.maps.layout.DropReason;
import agent.maps.layout.PolicyDirection;
import agent.testkit.KernelTest;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Policy policies on flows, and their conntrack entries. */
@KernelTest
class FlowKernelTest {
  private final ScenarioNode node = new ScenarioNode();

  @AfterEach
  void close() {
    node.close();
  }

  @ParameterizedTest
  @EnumSource
  void shouldDropFirstPacketWhenNoRuleSelectsTheDestination(Family family) {
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(31337, 80).syn())
        .dropsFor(DropReason.POLICY_DENIED);
    assertEquals(0, node.flows().count(), "a denied packet creates no entry");
  }

  @ParameterizedTest
  @EnumSource
  void shouldPassTheListedPortAndNoOther(Family family) {
    node.policyOf(ALICE).allowTo(PEER, TCP, 443).allowTo(PEER, UDP, 53);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(31337, 443).syn()).passes();
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(31337, 53)).passes();
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(31337, 53).syn())
        .dropsFor(DropReason.POLICY_DENIED);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(31337, 443))
        .dropsFor(DropReason.POLICY_DENIED);
    node.fromWorkload(ALICE, family.packet(ALICE, STRANGER).tcp(31337, 443).syn())
        .dropsFor(DropReason.POLICY_DENIED);
  }

  @ParameterizedTest
  @EnumSource
  void shouldDeliverBetweenWorkloadsWhenBothEndsAllowIt(Family family) {
    node.policyOf(ALICE).allowTo(BOB, TCP, 80);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).tcp(40000, 80).syn())
        .dropsAtPeerFor(DropReason.POLICY_DENIED);
    node.policyOf(BOB).allowFrom(ALICE, TCP, 80);
    node.raiseGeneration(BOB.id);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).tcp(40000, 80).syn()).reaches(BOB);
    node.fromWorkload(BOB, family.packet(BOB, ALICE).tcp(80, 40000).syn().ack()).reaches(ALICE);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).tcp(40000, 80).ack().payload("hello"))
        .reaches(BOB);
    final Flows.Flow flow = node.flows().find(family, ALICE, 40000, BOB, 80, TCP);
    assertEquals(ALICE, flow.initiator());
    assertEquals(ALICE.identity, flow.initiatorIdentity());
    assertEquals(BOB.identity, flow.responderIdentity());
    assertEquals(BOB.id, flow.responderId());
    assertTrue(flow.has(ConntrackFlag.SEEN_REPLY));
  }

  @ParameterizedTest
  @EnumSource
  void shouldNotLetTheResponderOpenTheOtherDirection(Family family) {
    node.policyOf(ALICE).allowTo(BOB, TCP, 80);
    node.policyOf(BOB).allowFrom(ALICE, TCP, 80);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).tcp(40000, 80).syn()).reaches(BOB);
    node.fromWorkload(BOB, family.packet(BOB, ALICE).tcp(40000, 80).syn())
        .dropsFor(DropReason.POLICY_DENIED);
  }

  @ParameterizedTest
  @EnumSource
  void shouldPassPacketsToTheHostToTheStackAndForwardItsReplies(Family family) {
    node.policyOf(ALICE).allowTo(HOST, TCP, 22);
    node.fromWorkload(ALICE, family.packet(ALICE, HOST).tcp(40000, 22).syn()).passes();
    node.toWorkload(ALICE, family.packet(HOST, ALICE).tcp(22, 40000).syn().ack()).passes();
    node.toWorkload(ALICE, family.packet(HOST, ALICE).tcp(22, 40001).syn().ack())
        .dropsFor(DropReason.POLICY_DENIED);
  }

  @ParameterizedTest
  @EnumSource
  void shouldEvaluateIngressPolicyForPacketsFromTheStack(Family family) {
    node.toWorkload(BOB, family.packet(PEER, BOB).tcp(40000, 80).syn())
        .dropsFor(DropReason.POLICY_DENIED);
    node.policyOf(BOB).allowFrom(PEER, TCP, 80);
    node.raiseGeneration(BOB.id);
    node.toWorkload(BOB, family.packet(PEER, BOB).tcp(40000, 80).syn()).passes();
    node.fromWorkload(BOB, family.packet(BOB, PEER).tcp(80, 40000).syn().ack()).passes();
  }

  @ParameterizedTest
  @EnumSource
  void shouldDenyAnEstablishedFlowWhenItsPolicyIsRevoked(Family family) {
    node.policyOf(ALICE).allowTo(PEER, TCP, 80);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).syn()).passes();
    node.toWorkload(ALICE, family.packet(PEER, ALICE).tcp(80, 40000).syn().ack()).passes();
    node.policyOf(ALICE).revokeTo(PEER, TCP, 80);
    node.raiseGeneration(ALICE.id);
    node.toWorkload(ALICE, family.packet(PEER, ALICE).tcp(80, 40000).ack())
        .dropsFor(DropReason.POLICY_DENIED);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).ack())
        .dropsFor(DropReason.POLICY_DENIED);
    final Flows.Flow flow = node.flows().find(family, ALICE, 40000, PEER, 80, TCP);
    assertTrue(flow.has(ConntrackFlag.DENIED));
    assertEquals(ALICE, flow.initiator());
    assertEquals(DropReason.POLICY_DENIED.number(), flow.dropReason());
    assertTrue(flow.lifetime().toSeconds() <= 10, flow::toString);
  }

  @ParameterizedTest
  @EnumSource
  void shouldDenyAFlowOfTwoWorkloadsWhenThePolicyOfEitherChanges(Family family) {
    for (final ScenarioHost changed : List.of(ALICE, BOB)) {
      final int port = 40000 + changed.id;
      node.policyOf(ALICE).allowTo(BOB, UDP, 53);
      node.policyOf(BOB).allowFrom(ALICE, UDP, 53);
      node.raiseGeneration(ALICE.id);
      node.raiseGeneration(BOB.id);
      node.fromWorkload(ALICE, family.packet(ALICE, BOB).udp(port, 53)).reaches(BOB);
      node.fromWorkload(BOB, family.packet(BOB, ALICE).udp(53, port)).reaches(ALICE);
      if (changed == ALICE) {
        node.policyOf(ALICE).denyTo(BOB, UDP, 53);
      } else {
        node.policyOf(BOB).denyFrom(ALICE, UDP, 53);
      }
      node.raiseGeneration(changed.id);
      node.fromWorkload(BOB, family.packet(BOB, ALICE).udp(53, port))
          .dropsOf(BOB, changed, DropReason.POLICY_DENY_RULE);
      node.fromWorkload(ALICE, family.packet(ALICE, BOB).udp(port, 53))
          .dropsOf(ALICE, changed, DropReason.POLICY_DENY_RULE);
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldDropPacketsOfAnEndpointWithoutAPolicyMap(Family family) {
    node.withoutPolicy().removePolicyMap(BOB);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).udp(40000, 53))
        .dropsAtPeerFor(DropReason.NO_ENDPOINT);
    node.fromWorkload(BOB, family.packet(BOB, PEER).udp(40000, 53))
        .dropsFor(DropReason.NO_ENDPOINT);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(40000, 53)).passes();
  }

  @ParameterizedTest
  @EnumSource
  void shouldNotContinueADeniedConnectionFromItsResponder(Family family) {
    node.policyOf(ALICE).allowTo(PEER, TCP, 80).allowAll(PolicyDirection.INGRESS);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).syn()).passes();
    node.toWorkload(ALICE, family.packet(PEER, ALICE).tcp(80, 40000).syn().ack()).passes();
    node.policyOf(ALICE).revokeTo(PEER, TCP, 80);
    node.raiseGeneration(ALICE.id);
    for (int i = 0; i < 2; i++) {
      node.toWorkload(ALICE, family.packet(PEER, ALICE).tcp(80, 40000).ack())
          .dropsFor(DropReason.POLICY_DENIED);
    }
    node.toWorkload(ALICE, family.packet(PEER, ALICE).tcp(80, 40000).syn()).passes();
    assertEquals(PEER, node.flows().find(family, ALICE, 40000, PEER, 80, TCP).initiator());
  }

  @ParameterizedTest
  @EnumSource
  void shouldForwardADeniedFlowWhenItIsAllowedAgain(Family family) {
    node.policyOf(ALICE).allowTo(PEER, UDP, 53);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(40000, 53)).passes();
    node.policyOf(ALICE).revokeTo(PEER, UDP, 53);
    node.raiseGeneration(ALICE.id);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(40000, 53))
        .dropsFor(DropReason.POLICY_DENIED);
    node.policyOf(ALICE).allowTo(PEER, UDP, 53);
    node.raiseGeneration(ALICE.id);
    node.toWorkload(ALICE, family.packet(PEER, ALICE).udp(53, 40000)).passes();
    assertFalse(node.flows().find(family, ALICE, 40000, PEER, 53, UDP).has(ConntrackFlag.DENIED));
  }

  @ParameterizedTest
  @EnumSource
  void shouldReevaluatePolicyWhenTheIdentityOfThePeerChanges(Family family) {
    node.policyOf(ALICE).allowTo(PEER, TCP, 80);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).syn()).passes();
    node.setIpcacheEntry(PEER, 999, 0);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).ack())
        .dropsFor(DropReason.POLICY_DENIED);
  }

  @ParameterizedTest
  @EnumSource
  void shouldSetTheLifetimesOfTcp(Family family) {
    node.withoutPolicy();
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).syn());
    assertLifetime(family, 60);
    node.toWorkload(ALICE, family.packet(PEER, ALICE).tcp(80, 40000).syn().ack());
    assertLifetime(family, 60);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).ack());
    assertLifetime(family, 21_600);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).fin().ack());
    assertLifetime(family, 21_600);
    node.toWorkload(ALICE, family.packet(PEER, ALICE).tcp(80, 40000).fin().ack());
    assertLifetime(family, 10);
  }

  @ParameterizedTest
  @EnumSource
  void shouldCloseAFlowThatIsReset(Family family) {
    node.withoutPolicy();
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).syn());
    node.toWorkload(ALICE, family.packet(PEER, ALICE).tcp(80, 40000).rst().ack());
    assertLifetime(family, 10);
    assertTrue(node.flows().find(family, ALICE, 40000, PEER, 80, TCP).has(ConntrackFlag.SEEN_RST));
  }

  @ParameterizedTest
  @EnumSource
  void shouldReopenAClosedFlowOnSyn(Family family) {
    node.policyOf(ALICE).allowTo(PEER, TCP, 80).allowAll(PolicyDirection.INGRESS);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).syn()).passes();
    node.toWorkload(ALICE, family.packet(PEER, ALICE).tcp(80, 40000).rst().ack()).passes();
    node.toWorkload(ALICE, family.packet(PEER, ALICE).tcp(80, 40000).syn()).passes();
    final Flows.Flow flow = node.flows().find(family, ALICE, 40000, PEER, 80, TCP);
    assertEquals(PEER, flow.initiator());
    assertFalse(flow.has(ConntrackFlag.SEEN_RST));
    assertLifetime(family, 60);
  }

  @ParameterizedTest
  @EnumSource
  void shouldOpenANewFlowWhenTheInitiatorReopensAClosedOne(Family family) {
    node.policyOf(ALICE).allowTo(PEER, TCP, 80);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).syn()).passes();
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).ack()).passes();
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).rst()).passes();
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).syn()).passes();
    final Flows.Flow flow = node.flows().find(family, ALICE, 40000, PEER, 80, TCP);
    assertEquals(ALICE, flow.initiator());
    assertFalse(flow.has(ConntrackFlag.SEEN_RST));
    assertFalse(flow.has(ConntrackFlag.SEEN_NON_SYN));
    assertLifetime(family, 60);
  }

  @ParameterizedTest
  @EnumSource
  void shouldEvaluatePolicyWhenTheResponderReopensAClosedFlow(Family family) {
    node.policyOf(ALICE).allowTo(PEER, TCP, 80);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).syn()).passes();
    node.toWorkload(ALICE, family.packet(PEER, ALICE).tcp(80, 40000).rst().ack()).passes();
    node.toWorkload(ALICE, family.packet(PEER, ALICE).tcp(80, 40000).syn())
        .dropsFor(DropReason.POLICY_DENIED);
  }

  @ParameterizedTest
  @EnumSource
  void shouldTrackASimultaneousOpenAsOneFlow(Family family) {
    node.policyOf(ALICE).allowTo(PEER, TCP, 80);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).syn()).passes();
    node.toWorkload(ALICE, family.packet(PEER, ALICE).tcp(80, 40000).syn()).passes();
    assertFalse(
        node.flows().find(family, ALICE, 40000, PEER, 80, TCP).has(ConntrackFlag.SEEN_REPLY));
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).syn().ack()).passes();
    node.toWorkload(ALICE, family.packet(PEER, ALICE).tcp(80, 40000).syn().ack()).passes();
    assertLifetime(family, 21_600);
    assertEquals(1, node.flows().count());
  }

  @ParameterizedTest
  @EnumSource
  void shouldTrackAFlowFromAPacketAfterItsSynWherePolicyAllowsIt(Family family) {
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).ack())
        .dropsFor(DropReason.POLICY_DENIED);
    node.policyOf(ALICE).allowTo(PEER, TCP, 80);
    node.raiseGeneration(ALICE.id);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).ack()).passes();
    node.toWorkload(ALICE, family.packet(PEER, ALICE).tcp(80, 40000).ack()).passes();
    assertLifetime(family, 21_600);
  }

  @ParameterizedTest
  @EnumSource
  void shouldCreateNoEntryForAResetWithoutAFlow(Family family) {
    node.withoutPolicy();
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).rst()).passes();
    assertEquals(0, node.flows().count());
  }

  @ParameterizedTest
  @EnumSource
  void shouldIgnoreAnExpiredEntry(Family family) throws InterruptedException {
    node.anyLifetime(1_000_000_000L);
    node.policyOf(ALICE).allowTo(PEER, UDP, 53);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(40000, 53)).passes();
    node.toWorkload(ALICE, family.packet(PEER, ALICE).udp(53, 40000)).passes();
    final Flows.Flow flow = node.flows().find(family, ALICE, 40000, PEER, 53, UDP);
    Thread.sleep(flow.lifetime().toMillis() + 20);
    assertNotNull(node.flows().find(family, ALICE, 40000, PEER, 53, UDP));
    node.toWorkload(ALICE, family.packet(PEER, ALICE).udp(53, 40000))
        .dropsFor(DropReason.POLICY_DENIED);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(40000, 53)).passes();
    node.toWorkload(ALICE, family.packet(PEER, ALICE).udp(53, 40000)).passes();
  }

  @ParameterizedTest
  @EnumSource
  void shouldDropPacketsToARemovedEndpoint(Family family) {
    node.withoutPolicy();
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).udp(40000, 53)).reaches(BOB);
    node.unregister(BOB);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).udp(40000, 53))
        .dropsFor(DropReason.NO_ENDPOINT);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).udp(40001, 53))
        .dropsFor(DropReason.NO_ENDPOINT);
  }

  @ParameterizedTest
  @EnumSource
  void shouldDeliverPacketsOfAWorkloadToItsOwnAddress(Family family) {
    node.policyOf(ALICE).allowAll();
    node.fromWorkload(ALICE, family.packet(ALICE, ALICE).udp(40000, 53)).reaches(ALICE);
    node.fromWorkload(ALICE, family.packet(ALICE, ALICE).udp(53, 40000)).reaches(ALICE);
    node.fromWorkload(ALICE, family.packet(ALICE, ALICE).udp(53, 53)).reaches(ALICE);
  }

  @ParameterizedTest
  @EnumSource
  void shouldPassAPacketWithAnExpiringTtlToTheStack(Family family) {
    node.withoutPolicy();
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).udp(40000, 53).ttl(1)).passes();
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).udp(40000, 53).ttl(1)).passes();
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).udp(40000, 53).ttl(2)).reaches(BOB);
  }

  @ParameterizedTest
  @EnumSource
  void shouldNotDeliverFramesThatAreNotAddressedToTheGateway(Family family) {
    node.withoutPolicy();
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).to("02:00:00:00:09:09").udp(40000, 53))
        .passes();
  }

  @ParameterizedTest
  @EnumSource
  void shouldTrackSctpByPorts(Family family) {
    node.policyOf(ALICE).allowTo(PEER, SCTP, 3868);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).sctp(40000, 3868)).passes();
    node.toWorkload(ALICE, family.packet(PEER, ALICE).sctp(3868, 40000)).passes();
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).sctp(40000, 3869))
        .dropsFor(DropReason.POLICY_DENIED);
  }

  @ParameterizedTest
  @EnumSource
  void shouldEvaluateOtherProtocolsByPeerOnly(Family family) {
    final int gre = 47;
    node.policyOf(ALICE).allowTo(PEER, TCP, 80);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).protocol(gre).payload("tunnel"))
        .dropsFor(DropReason.POLICY_DENIED);
    node.policyOf(ALICE).allowAllTo(PEER);
    node.raiseGeneration(ALICE.id);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).protocol(gre).payload("tunnel")).passes();
    node.toWorkload(ALICE, family.packet(PEER, ALICE).protocol(gre).payload("tunnel")).passes();
    assertNotNull(node.flows().find(family, ALICE, 0, PEER, 0, gre));
  }

  @ParameterizedTest
  @EnumSource
  void shouldMatchAPortRangeByItsPrefix(Family family) {
    node.policyOf(BOB).allowPortsFrom(PEER, TCP, 8000, 13);
    node.toWorkload(BOB, family.packet(PEER, BOB).tcp(40000, 7999).syn())
        .dropsFor(DropReason.POLICY_DENIED);
    node.toWorkload(BOB, family.packet(PEER, BOB).tcp(40000, 8000).syn()).passes();
    node.toWorkload(BOB, family.packet(PEER, BOB).tcp(40000, 8007).syn()).passes();
    node.toWorkload(BOB, family.packet(PEER, BOB).tcp(40000, 8008).syn())
        .dropsFor(DropReason.POLICY_DENIED);
  }

  @ParameterizedTest
  @EnumSource
  void shouldPreferADenyOfAnyIdentityOverAnAllow(Family family) {
    node.policyOf(BOB).allowAll(PolicyDirection.INGRESS).denyFrom(PEER, TCP, 80);
    node.toWorkload(BOB, family.packet(PEER, BOB).tcp(40000, 80).syn())
        .dropsFor(DropReason.POLICY_DENY_RULE);
    node.toWorkload(BOB, family.packet(PEER, BOB).tcp(40000, 81).syn()).passes();
    node.policyOf(BOB).allowFrom(PEER, UDP, 53).denyFromAny(UDP);
    node.toWorkload(BOB, family.packet(PEER, BOB).udp(40000, 53))
        .dropsFor(DropReason.POLICY_DENY_RULE);
  }

  @ParameterizedTest
  @EnumSource
  void shouldDropMulticastAlsoWherePolicyAllowsIt(Family family) {
    final var packet =
        family == Family.IPV4
            ? agent.testkit.Packets.ipv4(ALICE.ipv4, "239.1.2.3")
            : agent.testkit.Packets.ipv6(ALICE.ipv6, "ff05::1:3");
    packet.from(ALICE.mac()).to(ALICE.hostMac()).udp(5353, 5353);
    node.policyOf(ALICE).allowTo(STRANGER, UDP, 5353);
    node.fromWorkload(ALICE, packet).dropsFor(DropReason.INVALID_ADDRESS);
    assertEquals(0, node.flows().count());
  }

  @ParameterizedTest
  @EnumSource
  void shouldTrackManyFlowsSeparately(Family family) {
    node.withoutPolicy();
    for (int port = 1000; port < 1100; port++) {
      node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(port, 53)).passes();
    }
    assertEquals(100, node.flows().count());
    assertNull(node.flows().find(family, ALICE, 999, PEER, 53, UDP));
  }

  private void assertLifetime(Family family, long seconds) {
    final Flows.Flow flow = node.flows().find(family, ALICE, 40000, PEER, 80, TCP);
    final long left = flow.lifetime().toMillis();
    assertTrue(
        left <= seconds * 1000 && left > seconds * 1000 - 5000,
        () -> seconds + " s expected, " + left + " ms left: " + flow);
  }
}
