package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.ScenarioNode.DEVICE_MAC;
import static agent.datapath.programs.scenario.WorkloadPolicy.SCTP;
import static agent.datapath.programs.scenario.WorkloadPolicy.UDP;
import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.maps.layout.DropReason;
import agent.maps.layout.EndpointOption;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The packets and bytes of each side of a flow, with ConntrackAccounting. */
@KernelTest
class AccountingKernelTest {
  private final ScenarioNode node =
      new ScenarioNode()
          .with(ALICE, EndpointOption.CONNTRACK_ACCOUNTING)
          .with(BOB, EndpointOption.CONNTRACK_ACCOUNTING)
          .withoutPolicy();
  private long asked;
  private long answered;

  @AfterEach
  void close() {
    node.close();
  }

  @ParameterizedTest
  @EnumSource
  void shouldCountTheBytesOfEachSideOnTheFastPath(Family family) {
    node.routed();
    for (int length = 1; length <= 3; length++) {
      ask(family.packet(ALICE, PEER).udp(40000, 53).payloadOf(length));
      answer(family.packet(PEER, ALICE).udp(53, 40000).payloadOf(100 * length));
    }
    assertCounters(family, UDP, 3, 3);
    final IpPacket fromNetwork =
        family.packet(PEER, ALICE).to(DEVICE_MAC).udp(53, 40000).payloadOf(777);
    node.fromNetwork(fromNetwork).reaches(ALICE);
    answered += fromNetwork.bytes().length;
    assertCounters(family, UDP, 3, 4);
  }

  @ParameterizedTest
  @EnumSource
  void shouldCountTheBytesOfEachSideOnTheSlowPath(Family family) {
    ask(family.packet(ALICE, PEER).sctp(40000, 53).payloadOf(10));
    ask(family.packet(ALICE, PEER).sctp(40000, 53).payloadOf(20));
    answer(family.packet(PEER, ALICE).sctp(53, 40000).payloadOf(300));
    assertCounters(family, SCTP, 2, 1);
  }

  @ParameterizedTest
  @EnumSource
  void shouldCountAFlowThatTheOtherSideOpened(Family family) {
    answer(family.packet(PEER, ALICE).udp(53, 40000).payloadOf(5));
    ask(family.packet(ALICE, PEER).udp(40000, 53).payloadOf(600));
    final Flows.Flow flow = node.flows().find(family, ALICE, 40000, PEER, 53, UDP);
    assertEquals(PEER, flow.initiator());
    assertEquals(1, flow.initiatorPackets());
    assertEquals(answered, flow.initiatorBytes());
    assertEquals(1, flow.responderPackets());
    assertEquals(asked, flow.responderBytes());
  }

  @ParameterizedTest
  @EnumSource
  void shouldKeepTheCountersWhenTheVerdictIsRenewed(Family family) {
    node.routed();
    ask(family.packet(ALICE, PEER).udp(40000, 53).payloadOf(10));
    answer(family.packet(PEER, ALICE).udp(53, 40000).payloadOf(200));
    node.raiseGeneration(ALICE.id);
    ask(family.packet(ALICE, PEER).udp(40000, 53).payloadOf(30));
    assertCounters(family, UDP, 2, 1);
    node.raiseGeneration(0);
    answer(family.packet(PEER, ALICE).udp(53, 40000).payloadOf(500));
    assertCounters(family, UDP, 2, 2);
    node.fromNetwork(family.packet(PEER, ALICE).to(DEVICE_MAC).udp(53, 40000)).reaches(ALICE);
    assertEquals(
        3,
        node.flows().find(family, ALICE, 40000, PEER, 53, UDP).responderPackets(),
        "the host program still counts");
  }

  @ParameterizedTest
  @EnumSource
  void shouldNotCountPacketsThatPolicyDenies(Family family) {
    ask(family.packet(ALICE, PEER).udp(40000, 53).payloadOf(10));
    node.policyOf(ALICE).denyTo(PEER, UDP, 53);
    node.raiseGeneration(ALICE.id);
    for (int i = 0; i < 3; i++) {
      node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(40000, 53))
          .dropsFor(DropReason.POLICY_DENY_RULE);
    }
    assertCounters(family, UDP, 1, 0);
  }

  @ParameterizedTest
  @EnumSource
  void shouldCountNothingWithoutAccounting(Family family) {
    try (ScenarioNode silent = new ScenarioNode().routed().withoutPolicy()) {
      silent.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(40000, 53)).passes();
      silent.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(40000, 53)).leaves();
      silent.fromNetwork(family.packet(PEER, ALICE).to(DEVICE_MAC).udp(53, 40000)).reaches(ALICE);
      final Flows.Flow flow = silent.flows().find(family, ALICE, 40000, PEER, 53, UDP);
      assertEquals(0, flow.initiatorPackets() + flow.responderPackets());
      assertEquals(0, flow.initiatorBytes() + flow.responderBytes());
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldCountEachPacketAtOnce(Family family) {
    for (int i = 1; i <= 40; i++) {
      ask(family.packet(ALICE, PEER).udp(40000, 53).payloadOf(i));
      assertCounters(family, UDP, i, i - 1);
      answer(family.packet(PEER, ALICE).udp(53, 40000).payloadOf(1000 + i));
      assertCounters(family, UDP, i, i);
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldCountManyPacketsOfEachSide(Family family) {
    final int packets = 700;
    final IpPacket query = family.packet(ALICE, PEER).udp(40000, 53).payloadOf(10);
    final IpPacket answer = family.packet(PEER, ALICE).udp(53, 40000).payloadOf(1000);
    node.repeatFromWorkload(ALICE, query, packets);
    node.repeatToWorkload(ALICE, answer, packets + 1);
    asked = (long) packets * query.bytes().length;
    answered = (packets + 1L) * answer.bytes().length;
    assertCounters(family, UDP, packets, packets + 1);
  }

  private void ask(IpPacket packet) {
    node.fromWorkload(ALICE, packet).isForwarded();
    asked += packet.bytes().length;
  }

  private void answer(IpPacket packet) {
    node.toWorkload(ALICE, packet).passes();
    answered += packet.bytes().length;
  }

  private void assertCounters(Family family, int protocol, long fromAlice, long fromPeer) {
    final Flows.Flow flow = node.flows().find(family, ALICE, 40000, PEER, 53, protocol);
    assertEquals(ALICE, flow.initiator());
    assertEquals(fromAlice, flow.initiatorPackets());
    assertEquals(asked, flow.initiatorBytes());
    assertEquals(fromPeer, flow.responderPackets());
    assertEquals(answered, flow.responderBytes());
  }
}
