package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.HOST;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.ScenarioHost.STRANGER;
import static agent.datapath.programs.scenario.ScenarioNode.DEVICE_MAC;
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

/** The options of an endpoint, and packets from the network device. */
@KernelTest
class OptionKernelTest {
  private final ScenarioNode node = new ScenarioNode();

  @AfterEach
  void close() {
    node.close();
  }

  @ParameterizedTest
  @EnumSource
  void shouldDropForgedSources(Family family) {
    node.withoutPolicy();
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).from(BOB.mac()).udp(1, 2))
        .dropsFor(DropReason.INVALID_SOURCE_MAC);
    node.fromWorkload(
            ALICE, family.packet(BOB, PEER).from(ALICE.mac()).to(ALICE.hostMac()).udp(1, 2))
        .dropsFor(DropReason.INVALID_SOURCE_ADDRESS);
    node.fromWorkload(
            ALICE, family.packet(BOB, PEER).from(ALICE.mac()).to(ALICE.hostMac()).echoRequest(1, 2))
        .dropsFor(DropReason.INVALID_SOURCE_ADDRESS);
  }

  @ParameterizedTest
  @EnumSource
  void shouldForwardForeignSourcesWithoutSourceVerification(Family family) {
    node.withoutPolicy().without(EndpointOption.SOURCE_IP_VERIFICATION);
    node.fromWorkload(
            ALICE, family.packet(STRANGER, PEER).from(BOB.mac()).to(ALICE.hostMac()).udp(1, 2))
        .passes();
  }

  @ParameterizedTest
  @EnumSource
  void shouldEvaluateThePolicyOfTheSenderForAForgedSource(Family family) {
    node.without(EndpointOption.SOURCE_IP_VERIFICATION);
    node.policyOf(BOB).allowAll();
    node.fromWorkload(
            ALICE, family.packet(BOB, PEER).from(ALICE.mac()).to(ALICE.hostMac()).udp(1, 2))
        .dropsFor(DropReason.POLICY_DENIED);
  }

  @ParameterizedTest
  @EnumSource
  void shouldEvaluatePolicyForEachDirectionWithoutConntrack(Family family) {
    node.without(EndpointOption.CONNTRACK);
    node.policyOf(ALICE).allowTo(PEER, TCP, 80);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).syn()).passes();
    assertEquals(0, node.flows().count());
    node.toWorkload(ALICE, family.packet(PEER, ALICE).tcp(80, 40000).syn().ack())
        .dropsFor(DropReason.POLICY_DENIED);
    node.policyOf(ALICE).allowFrom(PEER, TCP, 40000);
    node.raiseGeneration(ALICE.id);
    node.toWorkload(ALICE, family.packet(PEER, ALICE).tcp(80, 40000).syn().ack()).passes();
  }

  @ParameterizedTest
  @EnumSource
  void shouldCountThePacketsOfAFlowWithAccounting(Family family) {
    node.with(ALICE, EndpointOption.CONNTRACK_ACCOUNTING).withoutPolicy();
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(40000, 53)).passes();
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(40000, 53)).passes();
    node.toWorkload(ALICE, family.packet(PEER, ALICE).udp(53, 40000)).passes();
    final Flows.Flow flow = node.flows().find(family, ALICE, 40000, PEER, 53, UDP);
    assertEquals(2, flow.initiatorPackets());
    assertEquals(1, flow.responderPackets());
  }

  @ParameterizedTest
  @EnumSource
  void shouldForwardDeniedPacketsInAuditMode(Family family) {
    node.with(BOB, EndpointOption.POLICY_AUDIT_MODE);
    node.policyOf(ALICE).allowAll(PolicyDirection.EGRESS);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).udp(40000, 53)).reaches(BOB);
    node.without(BOB, EndpointOption.POLICY_AUDIT_MODE);
    node.raiseGeneration(BOB.id);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).udp(40000, 53))
        .dropsAtPeerFor(DropReason.POLICY_DENIED);
  }

  @ParameterizedTest
  @EnumSource
  void shouldNotApplyTheAuditModeOfOneEndpointToTheOther(Family family) {
    node.with(BOB, EndpointOption.POLICY_AUDIT_MODE);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).udp(40000, 53))
        .dropsFor(DropReason.POLICY_DENIED);
  }

  @ParameterizedTest
  @EnumSource
  void shouldAskThePolicyMapThatTheEntryNames(Family family) {
    node.policyOf(BOB).allowTo(PEER, UDP, 53);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(40000, 53))
        .dropsFor(DropReason.POLICY_DENIED);
    node.sharePolicy(ALICE, BOB);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(40000, 53)).passes();
    node.policyOf(BOB).revokeTo(PEER, UDP, 53);
    node.raiseGeneration(ALICE.id);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(40000, 53))
        .dropsFor(DropReason.POLICY_DENIED);
  }

  @ParameterizedTest
  @EnumSource
  void shouldDeliverAnEstablishedFlowFromTheNetwork(Family family) {
    node.routed();
    node.policyOf(ALICE).allowTo(PEER, TCP, 80);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).syn()).passes();
    node.fromNetwork(arriving(family).tcp(80, 40000).syn().ack()).reaches(ALICE);
    node.fromNetwork(arriving(family).tcp(80, 40001).syn().ack()).passesUncounted();
    node.raiseGeneration(ALICE.id);
    node.fromNetwork(arriving(family).tcp(80, 40000).ack()).passesUncounted();
    assertNotNull(node.flows().find(family, ALICE, 40000, PEER, 80, TCP));
  }

  @ParameterizedTest
  @EnumSource
  void shouldPassADeniedFlowFromTheNetworkToTheEndpointProgram(Family family) {
    node.routed();
    node.policyOf(ALICE).allowTo(PEER, UDP, 53);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(40000, 53)).passes();
    node.policyOf(ALICE).revokeTo(PEER, UDP, 53);
    node.raiseGeneration(ALICE.id);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(40000, 53))
        .dropsFor(DropReason.POLICY_DENIED);
    node.fromNetwork(arriving(family).udp(53, 40000)).passesUncounted();
    node.toWorkload(ALICE, family.packet(PEER, ALICE).udp(53, 40000))
        .dropsFor(DropReason.POLICY_DENIED);
  }

  @ParameterizedTest
  @EnumSource
  void shouldNotDeliverFramesForOtherHosts(Family family) {
    node.routed();
    node.withoutPolicy();
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(40000, 53)).passes();
    node.fromNetwork(arriving(family).to("02:00:00:00:77:77").udp(53, 40000)).passesUncounted();
  }

  @ParameterizedTest
  @EnumSource
  void shouldDropALocalSourceFromTheNetwork(Family family) {
    node.fromNetwork(family.packet(BOB, ALICE).to(DEVICE_MAC).udp(1, 2))
        .dropsFor(DropReason.INVALID_SOURCE_ADDRESS);
    node.fromNetwork(family.packet(BOB, HOST).to(DEVICE_MAC).echoRequest(1, 2))
        .dropsFor(DropReason.INVALID_SOURCE_ADDRESS);
    node.fromNetwork(family.packet(STRANGER, ALICE).to(DEVICE_MAC).echoRequest(1, 2))
        .passesUncounted();
  }

  @ParameterizedTest
  @EnumSource
  void shouldDropPacketsOfADisabledFamilyAndForwardTheOther(Family family) {
    final Family other = family == Family.IPV4 ? Family.IPV6 : Family.IPV4;
    node.routed().withoutPolicy().disable(family);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(40000, 53))
        .dropsFor(DropReason.FAMILY_DISABLED);
    node.toWorkload(ALICE, family.packet(PEER, ALICE).udp(53, 40000))
        .dropsFor(DropReason.FAMILY_DISABLED);
    node.fromWorkload(ALICE, other.packet(ALICE, PEER).udp(40000, 53)).passes();
    node.fromNetwork(other.packet(PEER, ALICE).to(DEVICE_MAC).udp(53, 40000)).reaches(ALICE);
    node.fromNetwork(family.packet(BOB, ALICE).to(DEVICE_MAC).udp(53, 40000)).passesUncounted();
  }

  @ParameterizedTest
  @EnumSource
  void shouldGiveAddressesWithoutAnEntryTheWorldIdentityOfTheirFamily(Family family) {
    node.worldIdentity6(STRANGER.identity + 1).policyOf(ALICE).allowTo(STRANGER, UDP, 53);
    final Outcome outcome = node.fromWorkload(ALICE, family.packet(ALICE, STRANGER).udp(40000, 53));
    if (family == Family.IPV4) {
      outcome.passes();
    } else {
      outcome.dropsFor(DropReason.POLICY_DENIED);
    }
  }

  private static IpPacket arriving(Family family) {
    return family.packet(PEER, ALICE).to(DEVICE_MAC);
  }
}
