package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.FAR;
import static agent.datapath.programs.scenario.ScenarioHost.HOST;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.ScenarioNetwork.DEVICE;
import static agent.datapath.programs.scenario.ScenarioNetwork.OTHER_DEVICE;
import static agent.datapath.programs.scenario.ScenarioNode.DEVICE_MAC;
import static agent.datapath.programs.scenario.WorkloadPolicy.UDP;
import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.maps.layout.DropReason;
import agent.maps.layout.EndpointOption;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Both directions of a flow bypass the stack, or pass through it. */
@KernelTest
class RoutingKernelTest {
  /** So long before its end, an entry is refreshed by the next packet. */
  private static final Duration OLD = Duration.ofSeconds(20);

  private static final int DEVICE_MTU = 1500;
  private static final int MARKED = 0x10;

  private final ScenarioNode node = new ScenarioNode().withoutPolicy().routed();

  @AfterEach
  void close() {
    node.close();
  }

  private static IpPacket query(Family family, ScenarioHost peer) {
    return family.packet(ALICE, peer).udp(40000, 53);
  }

  private static IpPacket answer(Family family, ScenarioHost peer) {
    return family.packet(peer, ALICE).to(DEVICE_MAC).udp(53, 40000);
  }

  private void assertBypasses(Family family, ScenarioHost peer) {
    node.fromWorkload(ALICE, query(family, peer)).leaves();
    node.fromNetwork(answer(family, peer)).reaches(ALICE);
    node.fromWorkload(ALICE, query(family, peer)).leaves();
  }

  private void assertInStack(Family family, ScenarioHost peer) {
    node.fromWorkload(ALICE, query(family, peer)).passes();
    node.fromNetwork(answer(family, peer)).passesUncounted();
    node.toWorkload(ALICE, answer(family, peer)).passes();
    node.fromWorkload(ALICE, query(family, peer)).passes();
  }

  private void refresh(Family family, ScenarioHost peer) {
    node.flows().expireAfter(OLD, family, ALICE, 40000, peer, 53, UDP);
  }

  @ParameterizedTest
  @EnumSource
  void shouldBypassTheStackInBothDirectionsAfterTheFirstPacket(Family family) {
    for (final ScenarioHost peer : List.of(PEER, FAR)) {
      node.fromWorkload(ALICE, query(family, peer)).passes();
      assertBypasses(family, peer);
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldBypassTheStackInAFlowThatThePeerHasOpened(Family family) {
    for (final ScenarioHost peer : List.of(PEER, FAR)) {
      node.network().route(family == Family.IPV4 ? ALICE.ipv4 : ALICE.ipv6, "dev lo");
      node.toWorkload(ALICE, answer(family, peer)).passes();
      assertBypasses(family, peer);
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldLeaveBothDirectionsToTheStackWithoutHostRouting(Family family) {
    node.without(EndpointOption.HOST_ROUTING);
    assertInStack(family, PEER);
    refresh(family, PEER);
    assertInStack(family, PEER);
    node.fromWorkload(ALICE, query(family, BOB)).passes();
    node.fromWorkload(ALICE, query(family, BOB)).passes();
    node.fromWorkload(BOB, family.packet(BOB, ALICE).udp(53, 40000)).passes();
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).echoRequest(7, 1)).passes();
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).echoRequest(7, 2)).passes();
    node.fromWorkload(BOB, family.packet(BOB, ALICE).echoReply(7, 2)).passes();
    node.fromWorkload(
            ALICE,
            family.packet(ALICE, BOB).icmpError(family.unreachableType(), 1, query(family, BOB)))
        .passes();
  }

  @ParameterizedTest
  @EnumSource
  void shouldChangeTheWayOfARunningFlowWithTheOption(Family family) {
    node.fromWorkload(ALICE, query(family, PEER)).passes();
    assertBypasses(family, PEER);
    node.without(EndpointOption.HOST_ROUTING);
    node.raiseGeneration(ALICE.id);
    assertInStack(family, PEER);
    node.with(ALICE, EndpointOption.HOST_ROUTING);
    node.raiseGeneration(ALICE.id);
    node.fromWorkload(ALICE, query(family, PEER)).passes();
    assertBypasses(family, PEER);
  }

  @ParameterizedTest
  @EnumSource
  void shouldJudgeWhatTheStackBringsFromALocalWorkloadByTheSameFlow(Family family) {
    node.without(EndpointOption.HOST_ROUTING).with(ALICE, EndpointOption.CONNTRACK_ACCOUNTING);
    node.with(BOB, EndpointOption.CONNTRACK_ACCOUNTING);
    for (final boolean isQuick : new boolean[] {true, false}) {
      final IpPacket packet =
          isQuick ? query(family, BOB) : query(family, BOB).options(1).extension(60, 1);
      node.fromWorkload(ALICE, packet).passes();
      node.forwardedToWorkload(ALICE.ifindex, BOB, packet.bytes()).passes();
    }
    final Flows.Flow flow = node.flows().find(family, ALICE, 40000, BOB, 53, UDP);
    assertEquals(ALICE, flow.initiator());
    assertEquals(2, flow.initiatorPackets(), "each packet is counted once");
    assertEquals(1, node.flows().count());
  }

  @ParameterizedTest
  @EnumSource
  void shouldLeaveAFlowToTheStackWhoseDeviceHasNoProgram(Family family) {
    node.network().route(PEER, "dev " + ScenarioNetwork.name(OTHER_DEVICE));
    assertInStack(family, PEER);
    node.fromWorkload(ALICE, query(family, FAR)).passes();
    assertBypasses(family, FAR);
  }

  @ParameterizedTest
  @EnumSource
  void shouldLeaveAFlowToTheStackThatHasNoRoute(Family family) {
    for (final String type : List.of("unreachable", "blackhole", "prohibit")) {
      node.network().route(PEER, type);
      node.raiseGeneration(ALICE.id);
      assertInStack(family, PEER);
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldLeaveFlowsToTheStackWhereTheNodeDoesNotForward(Family family) {
    node.network().forward(false);
    assertInStack(family, PEER);
  }

  @ParameterizedTest
  @EnumSource
  void shouldFollowARouteThatChangesWhileAFlowRuns(Family family) {
    for (final ScenarioHost peer : List.of(PEER, FAR)) {
      for (final boolean isOutgoing : new boolean[] {true, false}) {
        followARoute(family, peer, isOutgoing);
      }
    }
  }

  private void followARoute(Family family, ScenarioHost peer, boolean isOutgoing) {
    node.network().route(peer, "dev " + ScenarioNetwork.name(DEVICE));
    node.raiseGeneration(ALICE.id);
    node.fromWorkload(ALICE, query(family, peer)).passes();
    assertBypasses(family, peer);
    node.network().route(peer, "dev " + ScenarioNetwork.name(OTHER_DEVICE));
    assertBypasses(family, peer); // until the entry is refreshed
    refresh(family, peer);
    if (isOutgoing) {
      node.fromWorkload(ALICE, query(family, peer)).passes();
    } else {
      node.fromNetwork(answer(family, peer)).reaches(ALICE);
    }
    assertInStack(family, peer);
    node.guard(OTHER_DEVICE);
    refresh(family, peer);
    if (isOutgoing) {
      node.fromWorkload(ALICE, query(family, peer)).leaves();
    } else {
      node.toWorkload(ALICE, answer(family, peer)).passes();
    }
    assertBypasses(family, peer);
    node.unguard(OTHER_DEVICE);
  }

  @ParameterizedTest
  @EnumSource
  void shouldLeaveADeniedFlowToTheStack(Family family) {
    node.fromWorkload(ALICE, query(family, PEER)).passes();
    assertBypasses(family, PEER);
    node.policyOf(ALICE).denyTo(PEER, UDP, 53);
    node.raiseGeneration(ALICE.id);
    for (int i = 0; i < 2; i++) {
      node.fromWorkload(ALICE, query(family, PEER)).dropsFor(DropReason.POLICY_DENY_RULE);
      node.fromNetwork(answer(family, PEER)).passesUncounted();
      node.flows().expireAfter(Duration.ofSeconds(5), family, ALICE, 40000, PEER, 53, UDP);
    }
  }

  /** The low two bits of the byte are no part of the class. */
  @ParameterizedTest
  @EnumSource
  void shouldTakeTheRouteOfTheTrafficClass(Family family) {
    node.network().routeByClass(MARKED, PEER, OTHER_DEVICE);
    node.fromWorkload(ALICE, query(family, PEER).trafficClass(3)).passes();
    assertBypasses(family, PEER);
    for (final int trafficClass : new int[] {MARKED, MARKED | 3}) {
      node.fromWorkload(ALICE, query(family, PEER).trafficClass(trafficClass)).passes();
      node.fromNetwork(answer(family, PEER).trafficClass(trafficClass)).reaches(ALICE);
      node.fromWorkload(ALICE, query(family, PEER).trafficClass(3)).leaves();
    }
    node.fromWorkload(ALICE, query(family, PEER).trafficClass(0xff - MARKED)).leaves();
  }

  @ParameterizedTest
  @EnumSource
  void shouldNotSendPacketsOfOtherClassesByTheRouteOfTheOneThatRefreshesIt(Family family) {
    node.network().route(PEER, "dev " + ScenarioNetwork.name(OTHER_DEVICE));
    node.network().routeByClass(MARKED, PEER, DEVICE);
    node.fromWorkload(ALICE, query(family, PEER).trafficClass(MARKED)).passes();
    for (int i = 0; i < 2; i++) {
      node.fromWorkload(ALICE, query(family, PEER).trafficClass(MARKED)).leaves();
      node.fromWorkload(ALICE, query(family, PEER)).passes();
      node.fromWorkload(ALICE, query(family, PEER).trafficClass(MARKED | 1)).leaves();
      refresh(family, PEER);
      node.fromNetwork(answer(family, PEER)).reaches(ALICE);
      node.fromWorkload(ALICE, query(family, PEER).trafficClass(MARKED)).leaves();
      node.fromWorkload(ALICE, query(family, PEER)).passes();
      refresh(family, PEER);
    }
    node.fromWorkload(ALICE, query(family, PEER)).passes();
    node.fromNetwork(answer(family, PEER)).passesUncounted();
    node.fromWorkload(ALICE, query(family, PEER)).passes();
    for (final boolean isQuick : new boolean[] {true, false}) {
      refresh(family, PEER);
      final IpPacket marked = query(family, PEER).trafficClass(MARKED);
      final Outcome outcome = node.fromWorkload(ALICE, Family.slow(isQuick, marked));
      assertEquals(isQuick ? Outcome.REDIRECT : Outcome.PASS, outcome.action());
      node.fromWorkload(ALICE, query(family, PEER).trafficClass(MARKED)).leaves();
      node.fromWorkload(ALICE, query(family, PEER)).passes();
    }
  }

  /** The class of its packets says nothing of those of the workload. */
  @ParameterizedTest
  @EnumSource
  void shouldNotTakeTheClassOfThePeerForThatOfTheWorkload(Family family) {
    node.network().route(family == Family.IPV4 ? ALICE.ipv4 : ALICE.ipv6, "dev lo");
    node.network().routeByClass(MARKED, PEER, OTHER_DEVICE);
    node.toWorkload(ALICE, answer(family, PEER).trafficClass(MARKED)).passes();
    assertBypasses(family, PEER);
    node.fromWorkload(ALICE, query(family, PEER).trafficClass(MARKED)).passes();
  }

  /** ICMP, fragments and packets with options are refreshed by the slow path. */
  @ParameterizedTest
  @EnumSource
  void shouldLeaveToTheStackWhatTheHostProgramDoesNotDeliver(Family family) {
    node.fromWorkload(ALICE, query(family, PEER)).passes();
    node.fromWorkload(ALICE, query(family, PEER).options(1).extension(60, 1)).passes();
    node.fromNetwork(answer(family, PEER).options(1).extension(60, 1)).passesUncounted();
    assertBypasses(family, PEER);
    node.network().route(PEER, "dev " + ScenarioNetwork.name(OTHER_DEVICE));
    refresh(family, PEER);
    node.fromWorkload(ALICE, query(family, PEER).options(1).extension(60, 1)).passes();
    assertInStack(family, PEER);
    node.fromWorkload(ALICE, family.packet(ALICE, FAR).echoRequest(7, 1)).passes();
    node.fromWorkload(ALICE, family.packet(ALICE, FAR).echoRequest(7, 2)).passes();
    node.fromNetwork(family.packet(FAR, ALICE).to(DEVICE_MAC).echoReply(7, 2)).passesUncounted();
  }

  @ParameterizedTest
  @EnumSource
  void shouldLeaveToTheStackWhatExpiresOrIsNotForTheGateway(Family family) {
    node.fromWorkload(ALICE, query(family, PEER)).passes();
    node.fromWorkload(ALICE, query(family, PEER).ttl(1)).passes();
    node.fromWorkload(ALICE, query(family, PEER).ttl(2)).leaves();
    node.fromWorkload(ALICE, query(family, PEER).to("02:00:00:00:77:77")).passes();
  }

  @ParameterizedTest
  @EnumSource
  void shouldLeaveToTheStackWhatIsLargerThanTheDeviceAllows(Family family) {
    final int headers = family == Family.IPV4 ? 28 : 48;
    node.fromWorkload(ALICE, query(family, PEER)).passes();
    node.fromWorkload(ALICE, query(family, PEER).payloadOf(DEVICE_MTU - headers)).leaves();
    node.fromWorkload(ALICE, query(family, PEER).payloadOf(DEVICE_MTU - headers + 1)).passes();
    node.network().mtu(DEVICE, 1280);
    node.fromWorkload(ALICE, query(family, PEER).payloadOf(1280 - headers)).leaves();
    node.fromWorkload(ALICE, query(family, PEER).payloadOf(1281 - headers)).passes();
  }

  @ParameterizedTest
  @EnumSource
  void shouldLeaveAFlowToTheStackWhoseRouteAllowsLessThanTheDevice(Family family) {
    node.network().route(PEER, "dev " + ScenarioNetwork.name(DEVICE) + " mtu lock 1400");
    node.network().resolve(PEER, DEVICE);
    assertInStack(family, PEER);
    node.network().route(PEER, "dev " + ScenarioNetwork.name(DEVICE) + " mtu lock 1500");
    refresh(family, PEER);
    assertBypasses(family, PEER);
  }

  @ParameterizedTest
  @EnumSource(names = "IPV4")
  void shouldLeaveFlowsToTheStackByADeviceThatIsTooNarrow(Family family) {
    node.network().mtu(DEVICE, 1279);
    assertInStack(family, PEER);
    node.network().mtu(DEVICE, 1280);
    refresh(family, PEER);
    assertBypasses(family, PEER);
  }

  @ParameterizedTest
  @EnumSource
  void shouldLeaveFlowsToTheStackWhoseSourceIsNotVerified(Family family) {
    node.without(EndpointOption.SOURCE_IP_VERIFICATION);
    assertInStack(family, PEER);
    refresh(family, PEER);
    assertInStack(family, PEER);
  }

  @ParameterizedTest
  @EnumSource
  void shouldLeaveTracedFlowsToTheStack(Family family) {
    node.with(ALICE, EndpointOption.TRACE_NOTIFICATION);
    assertInStack(family, PEER);
    node.without(ALICE, EndpointOption.TRACE_NOTIFICATION);
    refresh(family, PEER);
    assertInStack(family, PEER);
  }

  /** The route to an address of this node leads to the loopback device. */
  @ParameterizedTest
  @EnumSource
  void shouldLeaveFlowsWithThisNodeToTheStack(Family family) {
    node.fromWorkload(ALICE, query(family, HOST)).passes();
    node.fromWorkload(ALICE, query(family, HOST)).passes();
    refresh(family, HOST);
    node.fromWorkload(ALICE, query(family, HOST)).passes();
  }

  /** Policy lets the node itself send to its workloads, so its flows never come from a device. */
  @ParameterizedTest
  @EnumSource
  void shouldLeaveAFlowWithAnAddressOfThisNodeToTheStackWhateverTheRoutesSay(Family family) {
    node.network().route(HOST, "dev " + ScenarioNetwork.name(DEVICE));
    for (int i = 0; i < 2; i++) {
      node.fromWorkload(ALICE, family.packet(ALICE, HOST).udp(40000, 53)).passes();
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldLeaveFlowsOfAnEndpointToTheStackThatTracksNoneAnyMore(Family family) {
    for (final ScenarioHost peer : List.of(PEER, FAR)) {
      node.with(ALICE, EndpointOption.CONNTRACK);
      node.fromWorkload(ALICE, query(family, peer)).passes();
      node.without(ALICE, EndpointOption.CONNTRACK);
      node.raiseGeneration(ALICE.id);
      assertInStack(family, peer);
      node.with(ALICE, EndpointOption.CONNTRACK);
      refresh(family, peer);
      assertInStack(family, peer);
    }
  }
}
