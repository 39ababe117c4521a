package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.Family.slow;
import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.HOST;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.ScenarioNode.SECOND_NS;
import static agent.datapath.programs.scenario.ScenarioProxy.CLIENT;
import static agent.datapath.programs.scenario.ScenarioProxy.PORT;
import static agent.datapath.programs.scenario.ScenarioProxy.PROXY;
import static agent.datapath.programs.scenario.ScenarioProxy.SOCKET;
import static agent.datapath.programs.scenario.ScenarioProxy.of;
import static agent.datapath.programs.scenario.ScenarioProxy.opening;
import static agent.datapath.programs.scenario.ScenarioProxy.packet;
import static agent.datapath.programs.scenario.ScenarioProxy.to;
import static agent.datapath.programs.scenario.WorkloadPolicy.TCP;
import static agent.datapath.programs.scenario.WorkloadPolicy.UDP;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.programs.scenario.Flows.Flow;
import agent.maps.kernel.RingBufferReader;
import agent.maps.layout.AggregationLevel;
import agent.maps.layout.ConntrackFlag;
import agent.maps.layout.DropReason;
import agent.maps.layout.EndpointOption;
import agent.maps.layout.RedirectKind;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import java.time.Duration;
import java.util.List;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Packets of an established flow of Alice to Bob through a proxy. Those that change nothing in its
 * entries have a path of their own, as long as the verdict on the flow holds.
 */
@KernelTest
class ProxiedPathKernelTest {
  private static final UnaryOperator<IpPacket> AS_IT_IS = UnaryOperator.identity();

  /** The packets that a flow consists of, as they are sent and as they are passed on. */
  private enum Way {
    QUERY(true, ALICE, new End(ALICE, CLIENT), new End(BOB, PORT)),
    QUERY_OF_PROXY(false, BOB, new End(HOST, SOCKET), new End(BOB, PORT)),
    ANSWER(true, BOB, new End(BOB, PORT), new End(ALICE, CLIENT)),
    ANSWER_OF_PROXY(false, ALICE, new End(HOST, PROXY), new End(ALICE, CLIENT));

    private record End(ScenarioHost host, int port) {}

    private final boolean isSent;
    private final ScenarioHost workload;
    private final End from;
    private final End to;

    Way(boolean isSent, ScenarioHost workload, End from, End to) {
      this.isSent = isSent;
      this.workload = workload;
      this.from = from;
      this.to = to;
    }

    IpPacket packet(Family family, int protocol) {
      return framed(family, from, to, protocol);
    }

    IpPacket passed(Family family, int protocol) {
      return switch (this) {
        case QUERY -> framed(family, from, new End(HOST, PROXY), protocol);
        case QUERY_OF_PROXY -> framed(family, new End(ALICE, CLIENT), to, protocol);
        case ANSWER -> framed(family, from, new End(HOST, SOCKET), protocol);
        case ANSWER_OF_PROXY -> framed(family, new End(BOB, PORT), to, protocol);
      };
    }

    private IpPacket framed(Family family, End from, End to, int protocol) {
      final IpPacket packet =
          ScenarioProxy.packet(family, from.host, from.port, to.host, to.port, protocol);
      return isSent ? of(workload, packet) : to(workload, packet);
    }
  }

  private final ScenarioNode node = new ScenarioNode().routed();
  private final ScenarioProxy proxy = new ScenarioProxy(node);

  @BeforeEach
  void listen() throws Exception {
    proxy.listen();
  }

  @AfterEach
  void close() throws Exception {
    proxy.silence();
    node.close();
  }

  /** Opens the flow; after that, no packet changes anything in its entries for a while. */
  private void establish(Family family, int protocol) {
    node.policyOf(ALICE).redirectTo(BOB, protocol, PORT, RedirectKind.HTTP);
    node.policyOf(BOB).allowFrom(ALICE, protocol, PORT);
    proxy.open(family, ALICE, BOB, protocol);
    proxy.join(family, ALICE, BOB, protocol);
    node.toWorkload(BOB, to(BOB, opening(family.packet(HOST, BOB), protocol, SOCKET, PORT)))
        .passesAs(to(BOB, opening(family.packet(ALICE, BOB), protocol, CLIENT, PORT)));
    for (int i = 0; i < 2; i++) {
      for (final Way way : Way.values()) {
        passes(way, family, protocol, AS_IT_IS);
      }
    }
  }

  private void forget(Family family, int protocol) {
    node.flows().delete(family, ALICE, CLIENT, BOB, PORT, protocol);
    node.flows().delete(family, ALICE, CLIENT, HOST, PROXY, protocol);
    node.flows().delete(family, HOST, SOCKET, BOB, PORT, protocol);
  }

  private Outcome send(Way way, Family family, int protocol, UnaryOperator<IpPacket> change) {
    final IpPacket packet = change.apply(way.packet(family, protocol));
    return way.isSent
        ? node.fromWorkload(way.workload, packet)
        : node.toWorkload(way.workload, packet);
  }

  private void passes(Way way, Family family, int protocol, UnaryOperator<IpPacket> change) {
    send(way, family, protocol, change).passesAs(change.apply(way.passed(family, protocol)));
  }

  private Flow flow(Family family, int protocol) {
    return node.flows().find(family, ALICE, CLIENT, BOB, PORT, protocol);
  }

  private Flow leg(Family family, int protocol) {
    return node.flows().find(family, ALICE, CLIENT, HOST, PROXY, protocol);
  }

  private Flow socket(Family family, int protocol) {
    return node.flows().find(family, HOST, SOCKET, BOB, PORT, protocol);
  }

  /** The slow path takes packets with IP options and extension headers. */
  @ParameterizedTest
  @EnumSource
  void shouldRewriteEachPacketAsTheSlowPathDoes(Family family) {
    for (final int protocol : ScenarioProxy.protocols()) {
      establish(family, protocol);
      for (final Way way : Way.values()) {
        for (final String payload : List.of("", "an odd number of b.", "an even one.")) {
          passes(way, family, protocol, packet -> packet.payload(payload));
          passes(way, family, protocol, packet -> slow(false, packet.payload(payload)));
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldKeepTheChecksumOfTheDeviceRight(Family family) {
    for (final int protocol : ScenarioProxy.protocols()) {
      establish(family, protocol);
      for (final Way way : Way.values()) {
        final byte[] packet = way.packet(family, protocol).bytes();
        final int result =
            way.isSent
                ? node.checksummedFromWorkload(way.workload, packet)
                : node.checksummedToWorkload(way.workload, packet);
        assertEquals(0, result, way + ", protocol " + protocol);
      }
    }
  }

  /** A datagram of IPv4 may have none. */
  @Test
  void shouldLeaveADatagramWithoutAChecksumWithoutOne() {
    establish(Family.IPV4, UDP);
    for (final Way way : Way.values()) {
      final byte[] packet = withoutChecksum(way.packet(Family.IPV4, UDP).mayNotBeSplit().bytes());
      final byte[] passed = withoutChecksum(way.passed(Family.IPV4, UDP).mayNotBeSplit().bytes());
      if (way.isSent) {
        node.fromWorkload(way.workload, packet).passesAs(passed);
      } else {
        node.toWorkload(way.workload, packet).passesAs(passed);
      }
    }
  }

  private static byte[] withoutChecksum(byte[] datagram) {
    final int checksumOffset = 14 + 20 + 6;
    datagram[checksumOffset] = 0;
    datagram[checksumOffset + 1] = 0;
    return datagram;
  }

  @ParameterizedTest
  @EnumSource
  void shouldAskThePolicyAgainAfterItChanged(Family family) {
    for (final int protocol : ScenarioProxy.protocols()) {
      establish(family, protocol);
      node.policyOf(ALICE).denyTo(BOB, protocol, PORT);
      node.raiseGeneration(ALICE.id);
      send(Way.QUERY, family, protocol, AS_IT_IS).dropsFor(DropReason.POLICY_DENY_RULE);
      node.policyOf(ALICE).redirectTo(BOB, protocol, PORT, RedirectKind.HTTP);
      node.raiseGeneration(ALICE.id);
      for (int i = 0; i < 3; i++) {
        passes(Way.QUERY, family, protocol, AS_IT_IS);
        passes(Way.ANSWER, family, protocol, AS_IT_IS);
      }
      node.policyOf(BOB).denyFrom(ALICE, protocol, PORT);
      node.raiseGeneration(BOB.id);
      send(Way.ANSWER, family, protocol, AS_IT_IS).dropsFor(DropReason.POLICY_DENY_RULE);
    }
  }

  /** A denied flow is at rest, too, where one of UDP lives no longer than it. */
  @ParameterizedTest
  @EnumSource
  void shouldDropEachPacketOfADeniedFlow(Family family) {
    node.anyLifetime(10 * SECOND_NS);
    establish(family, UDP);
    node.policyOf(ALICE).denyTo(BOB, UDP, PORT);
    node.raiseGeneration(ALICE.id);
    for (int i = 0; i < 3; i++) {
      send(Way.QUERY, family, UDP, AS_IT_IS).dropsFor(DropReason.POLICY_DENY_RULE);
    }
  }

  /** The client's connection ends with what it and the proxy send, the other one with the rest. */
  @ParameterizedTest
  @EnumSource
  void shouldSeeTheEndOfEachConnection(Family family) {
    final List<UnaryOperator<IpPacket>> ends = List.of(IpPacket::fin, IpPacket::rst);
    for (final UnaryOperator<IpPacket> end : ends) {
      for (final Way way : Way.values()) {
        establish(family, TCP);
        final boolean isOfClient = way == Way.QUERY || way == Way.ANSWER_OF_PROXY;
        passes(way, family, TCP, end);
        assertEquals(isOfClient, isEnding(flow(family, TCP)), way + ": flow");
        assertEquals(isOfClient, isEnding(leg(family, TCP)), way + ": client and proxy");
        assertEquals(!isOfClient, isEnding(socket(family, TCP)), way + ": socket and server");
        forget(family, TCP);
      }
    }
  }

  private static boolean isEnding(Flow flow) {
    return flow.has(ConntrackFlag.SEEN_FIN_LOW)
        || flow.has(ConntrackFlag.SEEN_FIN_HIGH)
        || flow.has(ConntrackFlag.SEEN_RST);
  }

  /** The entry of the flow is at rest, since the client sends; that of the socket is new. */
  @ParameterizedTest
  @EnumSource
  void shouldTellTheEntryOfAnotherSocketThatTheServerAnswers(Family family) {
    for (final int protocol : ScenarioProxy.protocols()) {
      establish(family, protocol);
      node.flows().delete(family, HOST, SOCKET, BOB, PORT, protocol);
      passes(Way.QUERY_OF_PROXY, family, protocol, AS_IT_IS);
      assertFalse(socket(family, protocol).has(ConntrackFlag.SEEN_REPLY));
      passes(Way.ANSWER, family, protocol, AS_IT_IS);
      assertTrue(socket(family, protocol).has(ConntrackFlag.SEEN_REPLY));
    }
  }

  /** The server tells it about once a second, whatever keeps the entry of the flow. */
  @ParameterizedTest
  @EnumSource
  void shouldKeepTheEntryOfASocketThatOnlyTheServerUses(Family family) throws Exception {
    establish(family, UDP);
    final Duration shorter = Duration.ofSeconds(20);
    node.flows().expireAfter(shorter, family, HOST, SOCKET, BOB, PORT, UDP);
    final long end = System.nanoTime() + 15 * SECOND_NS;
    while (socket(family, UDP).lifetime().compareTo(shorter) <= 0 && System.nanoTime() < end) {
      Thread.sleep(20);
      passes(Way.QUERY, family, UDP, AS_IT_IS);
      passes(Way.ANSWER, family, UDP, AS_IT_IS);
    }
    assertTrue(socket(family, UDP).lifetime().compareTo(shorter) > 0);
  }

  @ParameterizedTest
  @EnumSource
  void shouldRefuseWhatDoesNotComeFromTheProxy(Family family) {
    for (final int protocol : ScenarioProxy.protocols()) {
      establish(family, protocol);
      for (final Way way : List.of(Way.QUERY_OF_PROXY, Way.ANSWER_OF_PROXY)) {
        final IpPacket packet = way.packet(family, protocol);
        final ScenarioHost other = way.workload == ALICE ? BOB : ALICE;
        node.forwardedToWorkload(other.ifindex, way.workload, packet.bytes())
            .dropsFor(DropReason.NO_PROXY);
        node.forwardedToWorkload(way.workload, packet).dropsFor(DropReason.POLICY_DENIED);
      }
      node.toWorkload(ALICE, to(ALICE, packet(family, BOB, PORT, ALICE, CLIENT, protocol)))
          .dropsFor(DropReason.NO_PROXY);
      node.toWorkload(BOB, to(BOB, packet(family, ALICE, CLIENT, BOB, PORT, protocol)))
          .dropsFor(DropReason.NO_PROXY);
      node.fromWorkload(ALICE, packet(family, ALICE, CLIENT, HOST, PROXY, protocol))
          .dropsFor(DropReason.NO_PROXY);
      node.fromWorkload(BOB, packet(family, BOB, PORT, HOST, SOCKET, protocol))
          .dropsFor(DropReason.NO_PROXY);
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldEndWithItsEndpoints(Family family) {
    for (final int protocol : ScenarioProxy.protocols()) {
      for (final ScenarioHost ended : List.of(ALICE, BOB)) {
        establish(family, protocol);
        node.reassign(ended);
        for (final Way way : List.of(Way.QUERY_OF_PROXY, Way.ANSWER_OF_PROXY)) {
          send(way, family, protocol, AS_IT_IS).dropsFor(DropReason.NO_PROXY);
        }
        forget(family, protocol);
      }
    }
  }

  /** Bob may send from other addresses, but not in a flow of Alice. */
  @ParameterizedTest
  @EnumSource
  void shouldNotFollowTheFlowOfAnotherEndpoint(Family family) {
    node.without(BOB, EndpointOption.SOURCE_IP_VERIFICATION);
    for (final int protocol : ScenarioProxy.protocols()) {
      node.policyOf(ALICE).redirectTo(PEER, protocol, PORT, RedirectKind.HTTP);
      proxy.open(family, ALICE, PEER, protocol);
      for (int i = 0; i < 2; i++) {
        node.toWorkload(ALICE, to(ALICE, packet(family, HOST, PROXY, ALICE, CLIENT, protocol)))
            .passesAs(to(ALICE, packet(family, PEER, PORT, ALICE, CLIENT, protocol)));
        node.fromWorkload(ALICE, packet(family, ALICE, CLIENT, PEER, PORT, protocol))
            .passesAs(of(ALICE, packet(family, ALICE, CLIENT, HOST, PROXY, protocol)));
      }
      node.fromWorkload(BOB, of(BOB, packet(family, ALICE, CLIENT, PEER, PORT, protocol)))
          .dropsFor(DropReason.POLICY_DENIED);
    }
  }

  @Test
  void shouldNotMixAFlowOfIpv4WithOneToTheRange() {
    node.nat46();
    establish(Family.IPV4, UDP);
    node.fromWorkload(ALICE, Nat46Packets.sent(ALICE, BOB).udp(CLIENT, PORT))
        .dropsFor(DropReason.TUPLE_IN_USE);
    passes(Way.QUERY, Family.IPV4, UDP, AS_IT_IS);
  }

  /** More packets than the pending ones of an entry that counts. */
  @ParameterizedTest
  @EnumSource
  void shouldCountNothingWhereTheEntryHasAddresses(Family family) {
    node.with(ALICE, EndpointOption.CONNTRACK_ACCOUNTING);
    node.with(BOB, EndpointOption.CONNTRACK_ACCOUNTING);
    for (final int protocol : ScenarioProxy.protocols()) {
      establish(family, protocol);
      for (int i = 0; i < 40; i++) {
        for (final Way way : Way.values()) {
          passes(way, family, protocol, AS_IT_IS);
        }
      }
      assertEquals(0, socket(family, protocol).initiatorPackets());
      assertEquals(0, leg(family, protocol).initiatorPackets());
    }
  }

  /** Of a flow through a proxy, both paths trace the packet that opens it. */
  @ParameterizedTest
  @EnumSource
  void shouldTraceNoPacketThatChangesNothing(Family family) {
    node.with(ALICE, EndpointOption.TRACE_NOTIFICATION);
    node.with(BOB, EndpointOption.TRACE_NOTIFICATION);
    try (RingBufferReader ring = new RingBufferReader(node.map("events"))) {
      for (final AggregationLevel level : List.of(AggregationLevel.LOW, AggregationLevel.NONE)) {
        node.aggregation(level.number());
        for (final int protocol : ScenarioProxy.protocols()) {
          establish(family, protocol);
          assertEquals(1, ring.poll((buffer, offset, length) -> {}, 100), level + " " + protocol);
          for (final Way way : Way.values()) {
            passes(way, family, protocol, AS_IT_IS);
            passes(way, family, protocol, packet -> slow(false, packet));
          }
          assertEquals(0, ring.poll((buffer, offset, length) -> {}, 100), level + " " + protocol);
          forget(family, protocol);
        }
      }
    }
  }
}
