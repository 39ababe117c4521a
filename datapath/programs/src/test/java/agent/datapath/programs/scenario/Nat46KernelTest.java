package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.Nat46Packets.received;
import static agent.datapath.programs.scenario.Nat46Packets.sent;
import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.ScenarioHost.STRANGER;
import static agent.datapath.programs.scenario.ScenarioNetwork.DEVICE;
import static agent.datapath.programs.scenario.WorkloadPolicy.TCP;
import static agent.datapath.programs.scenario.WorkloadPolicy.UDP;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import agent.datapath.programs.scenario.ScenarioServices.Server;
import agent.maps.layout.DropReason;
import agent.maps.layout.EndpointOption;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a workload sends to the range of NAT46 is IPv4 for everything but the workload. */
@KernelTest
class Nat46KernelTest {
  private static final int ID = 7;
  private static final int PORT = 80;
  private static final int SERVED = 8080;
  private static final int CLIENT = 40000;
  private static final String ODD = "an odd number of b.";

  private final ScenarioNode node = new ScenarioNode().nat46();

  @AfterEach
  void close() {
    node.close();
  }

  @Test
  void shouldTranslateAConnectionInBothDirections() {
    node.policyOf(ALICE).allowTo(PEER, TCP, PORT);
    leaves(sent(ALICE, PEER).tcp(CLIENT, PORT).syn(), ipv4(ALICE, PEER).tcp(CLIENT, PORT).syn());
    arrives(
        ipv4(PEER, ALICE).tcp(PORT, CLIENT).syn().ack(),
        received(PEER, ALICE).tcp(PORT, CLIENT).syn().ack());
    leaves(
        sent(ALICE, PEER).tcp(CLIENT, PORT).ack().payload(ODD),
        ipv4(ALICE, PEER).tcp(CLIENT, PORT).ack().payload(ODD));
    arrives(
        ipv4(PEER, ALICE).tcp(PORT, CLIENT).ack().payload(ODD),
        received(PEER, ALICE).tcp(PORT, CLIENT).ack().payload(ODD));
    assertEquals(1, node.flows().count());
  }

  @Test
  void shouldTranslateDatagramsAndEchoInBothDirections() {
    node.withoutPolicy();
    leaves(
        sent(ALICE, PEER).udp(CLIENT, 53).payload(ODD),
        ipv4(ALICE, PEER).udp(CLIENT, 53).payload(ODD));
    arrives(
        ipv4(PEER, ALICE).udp(53, CLIENT).payload(ODD),
        received(PEER, ALICE).udp(53, CLIENT).payload(ODD));
    leaves(sent(ALICE, PEER).echoRequest(7, 1), ipv4(ALICE, PEER).echoRequest(7, 1));
    arrives(ipv4(PEER, ALICE).echoReply(7, 1), received(PEER, ALICE).echoReply(7, 1));
    assertNotNull(node.flows().find(Family.IPV4, ALICE, 7, PEER, 0, Family.IPV4.icmp()));
  }

  @Test
  void shouldKeepTheHopLimitAndTheTrafficClass() {
    node.withoutPolicy();
    leaves(
        sent(ALICE, PEER).udp(CLIENT, 53).ttl(9).trafficClass(0xb9),
        ipv4(ALICE, PEER).udp(CLIENT, 53).ttl(9).trafficClass(0xb9));
    arrives(
        ipv4(PEER, ALICE).udp(53, CLIENT).ttl(8).trafficClass(0x2e),
        received(PEER, ALICE).udp(53, CLIENT).ttl(8).trafficClass(0x2e));
  }

  /** RFC 7915, section 5.1: what may exceed the least MTU of IPv6 finds the MTU of its path. */
  @Test
  void shouldLetRoutersSplitSmallPacketsAlone() {
    node.withoutPolicy();
    leaves(
        sent(ALICE, PEER).udp(CLIENT, 53).payloadOf(1232),
        ipv4(ALICE, PEER).udp(CLIENT, 53).payloadOf(1232));
    node.fromWorkload(ALICE, sent(ALICE, PEER).udp(CLIENT, 53).payloadOf(1233))
        .passesAs(ipv4(ALICE, PEER).udp(CLIENT, 53).payloadOf(1233).id(0).mayNotBeSplit());
  }

  @Test
  void shouldJudgeThePacketAsOneOfIpv4() {
    node.policyOf(ALICE).allowTo(BOB, TCP, PORT);
    node.fromWorkload(ALICE, sent(ALICE, PEER).tcp(CLIENT, PORT).syn())
        .dropsFor(DropReason.POLICY_DENIED);
    assertEquals(0, node.flows().count());
    node.policyOf(ALICE).allowTo(PEER, TCP, PORT);
    node.raiseGeneration(ALICE.id);
    leaves(sent(ALICE, PEER).tcp(CLIENT, PORT).syn(), ipv4(ALICE, PEER).tcp(CLIENT, PORT).syn());
  }

  /** A renewed verdict is of the same flow; a denied answer is not translated. */
  @Test
  void shouldTranslateAnswersUntilThePolicyDeniesTheFlow() {
    node.policyOf(ALICE).allowTo(PEER, UDP, 53);
    leaves(sent(ALICE, PEER).udp(CLIENT, 53), ipv4(ALICE, PEER).udp(CLIENT, 53));
    node.raiseGeneration(ALICE.id);
    arrives(ipv4(PEER, ALICE).udp(53, CLIENT), received(PEER, ALICE).udp(53, CLIENT));
    node.raiseGeneration(ALICE.id);
    leaves(sent(ALICE, PEER).udp(CLIENT, 53), ipv4(ALICE, PEER).udp(CLIENT, 53));
    arrives(ipv4(PEER, ALICE).udp(53, CLIENT), received(PEER, ALICE).udp(53, CLIENT));
    node.policyOf(ALICE).revokeTo(PEER, UDP, 53);
    node.raiseGeneration(ALICE.id);
    node.toWorkload(ALICE, ipv4(PEER, ALICE).udp(53, CLIENT)).dropsFor(DropReason.POLICY_DENIED);
  }

  @Test
  void shouldLeaveOtherFlowsAsTheyAre() {
    node.withoutPolicy();
    node.fromWorkload(ALICE, Family.IPV6.packet(ALICE, PEER).tcp(CLIENT, PORT).syn()).passes();
    node.fromWorkload(ALICE, ipv4(ALICE, PEER).tcp(CLIENT, PORT).syn()).passes();
    node.toWorkload(ALICE, ipv4(PEER, ALICE).tcp(PORT, CLIENT).syn().ack()).passes();
    node.toWorkload(ALICE, ipv4(PEER, ALICE).tcp(41000, 22).syn()).passes();
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void shouldNotMixAFlowOfIpv4WithOneToTheRange(boolean startsWithIpv4) {
    node.withoutPolicy();
    if (startsWithIpv4) {
      node.fromWorkload(ALICE, ipv4(ALICE, PEER).udp(CLIENT, 53)).passes();
      node.fromWorkload(ALICE, sent(ALICE, PEER).udp(CLIENT, 53)).dropsFor(DropReason.TUPLE_IN_USE);
    } else {
      leaves(sent(ALICE, PEER).udp(CLIENT, 53), ipv4(ALICE, PEER).udp(CLIENT, 53));
      node.fromWorkload(ALICE, ipv4(ALICE, PEER).udp(CLIENT, 53)).dropsFor(DropReason.TUPLE_IN_USE);
    }
  }

  /** Both directions pass the stack, where the answers get to the program that translates them. */
  @Test
  void shouldTakeFlowsBetweenWorkloadsThroughTheStack() {
    node.withoutPolicy();
    for (int i = 0; i < 2; i++) {
      leaves(sent(ALICE, BOB).udp(CLIENT, 53), ipv4(ALICE, BOB).udp(CLIENT, 53));
      node.forwardedToWorkload(ALICE.ifindex, BOB, ipv4(ALICE, BOB).udp(CLIENT, 53).bytes());
      node.fromWorkload(BOB, ipv4(BOB, ALICE).udp(53, CLIENT)).passes();
      node.forwardedToWorkload(BOB.ifindex, ALICE, toAlice(ipv4(BOB, ALICE).udp(53, CLIENT)))
          .passesAs(received(BOB, ALICE).udp(53, CLIENT));
      node.raiseGeneration(BOB.id);
    }
  }

  /** It comes through the stack with the MAC addresses of the link of its receiver. */
  private static byte[] toAlice(IpPacket packet) {
    return packet.from(ALICE.hostMac()).to(ALICE.mac()).bytes();
  }

  @Test
  void shouldKeepFlowsInTheStackOnARoutedNode() {
    node.withoutPolicy().routed().masquerade(DEVICE, ScenarioHost.NODE);
    for (int i = 0; i < 2; i++) {
      leaves(sent(ALICE, PEER).udp(CLIENT, 53), ipv4(ALICE, PEER).udp(CLIENT, 53));
      node.fromNetwork(ipv4(PEER, ScenarioHost.NODE).to(ScenarioNode.DEVICE_MAC).udp(53, CLIENT))
          .passesUncountedAs(
              ipv4(PEER, ALICE)
                  .to(ScenarioNode.DEVICE_MAC)
                  .from(ScenarioHost.NODE.hostMac())
                  .udp(53, CLIENT));
      arrives(ipv4(PEER, ALICE).udp(53, CLIENT), received(PEER, ALICE).udp(53, CLIENT));
    }
  }

  @Test
  void shouldReachServicesByTheRange() {
    node.withoutPolicy().with(ALICE, EndpointOption.SERVICES);
    node.services(Family.IPV4).putInside(ID, STRANGER.ipv4, PORT, TCP, new Server(BOB, SERVED));
    leaves(
        sent(ALICE, STRANGER).tcp(CLIENT, PORT).syn(), ipv4(ALICE, BOB).tcp(CLIENT, SERVED).syn());
    node.fromWorkload(BOB, ipv4(BOB, ALICE).tcp(SERVED, CLIENT).syn().ack()).passes();
    node.forwardedToWorkload(
            BOB.ifindex, ALICE, toAlice(ipv4(BOB, ALICE).tcp(SERVED, CLIENT).syn().ack()))
        .passesAs(received(STRANGER, ALICE).tcp(PORT, CLIENT).syn().ack());
    leaves(
        sent(ALICE, STRANGER).tcp(CLIENT, PORT).ack(), ipv4(ALICE, BOB).tcp(CLIENT, SERVED).ack());
  }

  /** The flow never meets the stack: its answer goes by the veth to the program that translates. */
  @Test
  void shouldTurnTheFlowOfAWorkloadToItselfByAService() {
    node.withoutPolicy().with(ALICE, EndpointOption.SERVICES);
    node.services(Family.IPV4).putInside(ID, STRANGER.ipv4, PORT, UDP, new Server(ALICE, SERVED));
    for (int i = 0; i < 2; i++) {
      final Outcome query = node.fromWorkload(ALICE, sent(ALICE, STRANGER).udp(CLIENT, PORT));
      query.reachesAs(ALICE, ipv4(STRANGER, ALICE).udp(CLIENT, SERVED).id(identification(query)));
      final Outcome answer = node.fromWorkload(ALICE, ipv4(ALICE, STRANGER).udp(SERVED, CLIENT));
      answer.reachesAs(ALICE, ipv4(STRANGER, ALICE).udp(PORT, CLIENT));
    }
  }

  /** Backends outside answer the node, and the answers go to the workload past the stack. */
  @Test
  void shouldReachABackendOutsideByAService() {
    node.withoutPolicy()
        .routed()
        .masquerade(DEVICE, ScenarioHost.NODE)
        .with(ALICE, EndpointOption.SERVICES);
    node.services(Family.IPV4).putInside(ID, STRANGER.ipv4, PORT, UDP, new Server(PEER, SERVED));
    for (int i = 0; i < 2; i++) {
      assertEquals(
          Outcome.REDIRECT,
          node.fromWorkload(ALICE, sent(ALICE, STRANGER).udp(CLIENT, PORT)).action());
      final Outcome answer =
          node.fromNetwork(
              ipv4(PEER, ScenarioHost.NODE).to(ScenarioNode.DEVICE_MAC).udp(SERVED, CLIENT));
      answer.reachesAs(ALICE, ipv4(STRANGER, ALICE).udp(PORT, CLIENT));
    }
  }

  @Test
  void shouldDropWhatHasNoCounterpart() {
    node.withoutPolicy();
    drops(sent(ALICE, PEER).udp(CLIENT, 53).extension(IpPacket.DESTINATION_OPTIONS, 1));
    drops(sent(ALICE, PEER).sctp(CLIENT, 53));
    drops(sent(ALICE, PEER).icmp(139, 0, new byte[16]));
    leaves(sent(ALICE, PEER).udp(CLIENT, 53), ipv4(ALICE, PEER).udp(CLIENT, 53));
    final byte[] unsummed = ipv4(PEER, ALICE).udp(53, CLIENT).bytes();
    unsummed[14 + 20 + 6] = 0;
    unsummed[14 + 20 + 7] = 0;
    dropsTo(unsummed);
    dropsTo(ipv4(PEER, ALICE).udp(53, CLIENT).options(1).bytes());
    node.takeIpv4(ALICE);
    drops(sent(ALICE, PEER).udp(CLIENT, 53));
  }

  @Test
  void shouldDropWhatTheWorkloadSendsFromAnotherAddress() {
    node.withoutPolicy();
    node.fromWorkload(ALICE, sent(ALICE, PEER).udp(CLIENT, 53)).parsed();
    node.fromWorkload(BOB, sent(ALICE, PEER).from(BOB.mac()).to(BOB.hostMac()).udp(CLIENT, 53))
        .dropsFor(DropReason.INVALID_SOURCE_ADDRESS);
  }

  private void drops(IpPacket packet) {
    node.fromWorkload(ALICE, packet).dropsFor(DropReason.NOT_TRANSLATABLE);
  }

  /** The packet is judged, and counted as forwarded, before it cannot be translated. */
  private void dropsTo(byte[] frame) {
    assertEquals(Outcome.SHOT, node.actionOf("to_endpoint", ALICE, frame));
  }

  /** Asserts that the stack gets a packet that the workload sends as the other one. */
  private void leaves(IpPacket packet, IpPacket expected) {
    final Outcome outcome = node.fromWorkload(ALICE, packet);
    outcome.passesAs(expected.id(identification(outcome)));
  }

  private void arrives(IpPacket packet, IpPacket expected) {
    node.toWorkload(ALICE, packet).passesAs(expected);
  }

  private static IpPacket ipv4(ScenarioHost from, ScenarioHost to) {
    return Family.IPV4.packet(from, to);
  }

  /** The identification of an IPv4 packet that may be split is any number. */
  private static int identification(Outcome outcome) {
    return (outcome.frame()[18] & 0xff) << 8 | outcome.frame()[19] & 0xff;
  }
}
