package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.HOST;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.ScenarioNode.DEVICE_MAC;
import static agent.datapath.programs.scenario.WorkloadPolicy.TCP;
import static agent.datapath.programs.scenario.WorkloadPolicy.UDP;
import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.maps.layout.DropReason;
import agent.maps.layout.EndpointOption;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Packets that a malicious workload or network host would send. */
@KernelTest
class AttackKernelTest {
  private final ScenarioNode node = new ScenarioNode();

  @AfterEach
  void close() {
    node.close();
  }

  @ParameterizedTest
  @EnumSource
  void shouldDropAForgedLocalSourceBehindAnyNumberOfTags(Family family) {
    node.fromNetwork(arriving(family, BOB).udp(40000, 53))
        .dropsFor(DropReason.INVALID_SOURCE_ADDRESS);
    for (int tags = 1; tags <= 4; tags++) {
      node.fromNetwork(tagged(arriving(family, BOB), tags).udp(40000, 53))
          .dropsFor(DropReason.INVALID_SOURCE_ADDRESS);
      node.fromNetwork(tagged(arriving(family, PEER), tags).udp(40000, 53)).passesUncounted();
    }
    node.fromNetwork(tagged(arriving(family, PEER), 5).udp(40000, 53))
        .dropsFor(DropReason.UNKNOWN_ETHERTYPE);
  }

  @ParameterizedTest
  @EnumSource
  void shouldDropAForgedSourceOfThisNode(Family family) {
    node.policyOf(ALICE).allowFrom(HOST, TCP, 22);
    node.fromNetwork(arriving(family, HOST).tcp(40000, 22).syn())
        .dropsFor(DropReason.INVALID_SOURCE_ADDRESS);
    node.toWorkload(ALICE, family.packet(HOST, ALICE).tcp(40000, 22).syn()).passes();
    node.fromWorkload(ALICE, family.packet(ALICE, HOST).tcp(22, 40000).syn().ack()).passes();
    node.toWorkload(ALICE, family.packet(HOST, ALICE).tcp(40000, 22).ack()).passes();
    node.fromNetwork(arriving(family, HOST).tcp(40000, 22).ack())
        .dropsFor(DropReason.INVALID_SOURCE_ADDRESS);
  }

  @ParameterizedTest
  @EnumSource
  void shouldNotStoreAFragmentWithAForgedSource(Family family) {
    node.withoutPolicy();
    final List<byte[]> own = fragments(family, BOB, PEER, 53);
    final List<byte[]> forged =
        family
            .packet(BOB, PEER)
            .from(ALICE.mac())
            .to(ALICE.hostMac())
            .id(53)
            .udp(40000, 99)
            .payloadOf(1200)
            .fragments(512);
    node.fromWorkload(ALICE, forged.get(0)).dropsFor(DropReason.INVALID_SOURCE_ADDRESS);
    node.fromWorkload(BOB, own.get(1)).waits();
  }

  @ParameterizedTest
  @EnumSource
  void shouldNotStoreAFragmentThatPolicyDenies(Family family) {
    node.policyOf(ALICE).allowTo(PEER, UDP, 53);
    final List<byte[]> denied = fragments(family, ALICE, PEER, 54);
    node.fromWorkload(ALICE, denied.get(0)).dropsFor(DropReason.POLICY_DENIED);
    final String map = family == Family.IPV4 ? "fragments4" : "fragments6";
    assertEquals(0, node.map(map).countEntries(), "a denied datagram leaves no state");
    node.fromWorkload(ALICE, fragments(family, ALICE, PEER, 53).get(0)).passes();
    assertEquals(1, node.map(map).countEntries());
  }

  @ParameterizedTest
  @EnumSource
  void shouldNotApplyAnEntryOfThePreviousOwnerOfAnAddressToTheNewOwner(Family family) {
    node.policyOf(ALICE).allowTo(PEER, TCP, 80);
    connect(family);
    node.reassign(ALICE);
    node.toWorkload(ALICE, family.packet(PEER, ALICE).tcp(80, 40000).ack().payload("for the next"))
        .dropsFor(DropReason.POLICY_DENIED);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).ack()).passes();
  }

  @ParameterizedTest
  @EnumSource
  void shouldNotDeliverToTheNewOwnerByAnEntryOfThePreviousOwner(Family family) {
    node.policyOf(BOB).allowTo(ALICE, UDP, 53);
    node.policyOf(ALICE).allowFrom(BOB, UDP, 53);
    node.fromWorkload(BOB, family.packet(BOB, ALICE).udp(40000, 53)).reaches(ALICE);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).udp(53, 40000)).reaches(BOB);
    node.reassign(BOB);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).udp(53, 40000))
        .dropsFor(DropReason.POLICY_DENIED);
  }

  @ParameterizedTest
  @EnumSource
  void shouldEvaluatePolicyWhenTheResponderSendsASynInAnEstablishedConnection(Family family) {
    node.routed();
    node.policyOf(ALICE).allowTo(PEER, TCP, 80);
    connect(family);
    node.toWorkload(ALICE, family.packet(PEER, ALICE).tcp(80, 40000).syn())
        .dropsFor(DropReason.POLICY_DENIED);
    node.fromNetwork(arriving(family, PEER).tcp(80, 40000).syn()).passesUncounted();
    node.toWorkload(ALICE, family.packet(PEER, ALICE).tcp(80, 40000).ack()).passes();
    node.fromNetwork(arriving(family, PEER).tcp(80, 40000).ack()).reaches(ALICE);
  }

  @ParameterizedTest
  @EnumSource
  void shouldAccountPacketsThatTheHostProgramDelivers(Family family) {
    node.routed().with(ALICE, EndpointOption.CONNTRACK_ACCOUNTING);
    node.policyOf(ALICE).allowTo(PEER, TCP, 80);
    connect(family);
    node.fromNetwork(arriving(family, PEER).tcp(80, 40000).ack()).reaches(ALICE);
    final Flows.Flow flow = node.flows().find(family, ALICE, 40000, PEER, 80, TCP);
    assertEquals(2, flow.initiatorPackets());
    assertEquals(2, flow.responderPackets());
  }

  @ParameterizedTest
  @EnumSource
  void shouldPassATracedFlowToTheEndpointProgram(Family family) {
    node.routed().with(ALICE, EndpointOption.TRACE_NOTIFICATION);
    node.policyOf(ALICE).allowTo(PEER, TCP, 80);
    connect(family);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).ack()).passes();
    node.fromNetwork(arriving(family, PEER).tcp(80, 40000).ack()).passesUncounted();
  }

  @Test
  void shouldDropRouterAdvertisementsInFragmentsAndBehindExtensionHeaders() {
    final Family family = Family.IPV6;
    node.withoutPolicy();
    final byte[] advertisement = new byte[1204];
    final IpPacket plain = family.packet(ALICE, HOST).ttl(255).id(9).icmp(134, 0, advertisement);
    node.fromWorkload(ALICE, plain).dropsFor(DropReason.NEIGHBOUR_UNKNOWN);
    for (final byte[] fragment : plain.fragments(512)) {
      assertEquals(Outcome.SHOT, node.fromWorkload(ALICE, fragment).action());
    }
    node.fromWorkload(
            ALICE,
            family
                .packet(ALICE, HOST)
                .ttl(255)
                .extension(IpPacket.DESTINATION_OPTIONS, 1)
                .icmp(134, 0, advertisement))
        .dropsFor(DropReason.NEIGHBOUR_UNKNOWN);
  }

  private void connect(Family family) {
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).syn()).passes();
    node.toWorkload(ALICE, family.packet(PEER, ALICE).tcp(80, 40000).syn().ack()).passes();
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).ack()).isForwarded();
  }

  private static IpPacket arriving(Family family, ScenarioHost from) {
    return family.packet(from, ALICE).to(DEVICE_MAC);
  }

  private static IpPacket tagged(IpPacket packet, int tags) {
    for (int i = 0; i < tags; i++) {
      packet.vlan(0);
    }
    return packet;
  }

  private static List<byte[]> fragments(
      Family family, ScenarioHost from, ScenarioHost to, int port) {
    return family.packet(from, to).id(port).udp(40000, port).payloadOf(1200).fragments(512);
  }
}
