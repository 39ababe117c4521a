package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.WorkloadPolicy.TCP;
import static agent.datapath.programs.scenario.WorkloadPolicy.UDP;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.maps.kernel.LostEvents;
import agent.maps.kernel.RingBufferReader;
import agent.maps.layout.AggregationLevel;
import agent.maps.layout.DropReason;
import agent.maps.layout.EndpointOption;
import agent.maps.layout.EventType;
import agent.maps.layout.FlowEventFlyweight;
import agent.maps.layout.MetricsDirection;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.PolicyFlag;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import agent.testkit.Packets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The events that the programs emit to the ring buffer. */
@KernelTest
class EventKernelTest {
  private record Event(
      int type,
      int reason,
      int policyFlags,
      int endpointId,
      int sourceIdentity,
      int destinationIdentity,
      int sourcePort,
      int destinationPort,
      int protocol,
      int length) {}

  /** What an event tells of the headers. */
  private record Header(
      int direction,
      int family,
      int tcpFlags,
      List<Long> source,
      List<Long> destination,
      int sourcePort,
      int destinationPort) {
    static Header of(FlowEventFlyweight event) {
      return new Header(
          event.direction(),
          event.family(),
          event.tcpFlags(),
          List.of(event.sourceAddressHigh(), event.sourceAddressLow()),
          List.of(event.destinationAddressHigh(), event.destinationAddressLow()),
          event.sourcePort(),
          event.destinationPort());
    }
  }

  private static final int INGRESS = MetricsDirection.INGRESS.number();
  private static final int EGRESS = MetricsDirection.EGRESS.number();

  /** The device of the packets of BPF_PROG_TEST_RUN. */
  private static final int LOOPBACK_IFINDEX = 1;

  private final ScenarioNode node = new ScenarioNode();
  private final RingBufferReader ring = new RingBufferReader(node.map("events"));

  @AfterEach
  void close() {
    ring.close();
    node.close();
  }

  @ParameterizedTest
  @EnumSource
  void shouldEmitNoEventWithoutANotificationOption(Family family) {
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).syn())
        .dropsFor(DropReason.POLICY_DENIED);
    node.withoutPolicy();
    node.raiseGeneration(ALICE.id);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).syn()).passes();
    assertEquals(List.of(), events());
  }

  @ParameterizedTest
  @EnumSource
  void shouldEmitADropWithBothIdentities(Family family) {
    node.with(ALICE, EndpointOption.DROP_NOTIFICATION);
    final byte[] frame = family.packet(ALICE, PEER).tcp(40000, 80).syn().bytes();
    node.fromWorkload(ALICE, frame).dropsFor(DropReason.POLICY_DENIED);
    assertEquals(
        List.of(
            new Event(
                EventType.DROP.number(),
                DropReason.POLICY_DENIED.number(),
                0,
                ALICE.id,
                ALICE.identity,
                PEER.identity,
                40000,
                80,
                TCP,
                frame.length)),
        events());
  }

  @ParameterizedTest
  @EnumSource
  void shouldEmitADropWithoutIdentitiesBeforeTheLookup(Family family) {
    node.with(ALICE, EndpointOption.DROP_NOTIFICATION).withoutPolicy();
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).from(BOB.mac()).udp(1, 2))
        .dropsFor(DropReason.INVALID_SOURCE_MAC);
    final List<Event> events = events();
    assertEquals(1, events.size());
    assertEquals(DropReason.INVALID_SOURCE_MAC.number(), events.getFirst().reason());
    assertEquals(0, events.getFirst().sourceIdentity());
  }

  @ParameterizedTest
  @EnumSource
  void shouldEmitTheVerdictOnANewFlowOnce(Family family) {
    node.with(ALICE, EndpointOption.POLICY_VERDICT_NOTIFICATION);
    node.policyOf(ALICE).allowTo(PEER, UDP, 53);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(40000, 53)).passes();
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(40000, 53)).passes();
    node.toWorkload(ALICE, family.packet(PEER, ALICE).udp(53, 40000)).passes();
    node.raiseGeneration(ALICE.id);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(40000, 53)).passes();
    final List<Event> events = events();
    assertEquals(1, events.size());
    assertEquals(EventType.VERDICT.number(), events.getFirst().type());
    assertEquals(DropReason.NONE.number(), events.getFirst().reason());
  }

  @ParameterizedTest
  @EnumSource
  void shouldTraceEveryForwardedPacketWithoutAggregation(Family family) {
    node.with(ALICE, EndpointOption.TRACE_NOTIFICATION).withoutPolicy();
    for (int i = 0; i < 3; i++) {
      node.fromWorkload(ALICE, family.packet(ALICE, BOB).udp(40000, 53)).reaches(BOB);
    }
    final List<Event> events = events();
    assertEquals(3, events.size());
    for (final Event event : events) {
      assertEquals(EventType.TRACE.number(), event.type());
      assertEquals(ALICE.identity, event.sourceIdentity());
      assertEquals(BOB.identity, event.destinationIdentity());
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldEmitTheVerdictThatAuditModeDidNotEnforce(Family family) {
    node.with(ALICE, EndpointOption.DROP_NOTIFICATION);
    node.with(ALICE, EndpointOption.POLICY_AUDIT_MODE);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(40000, 53)).passes();
    final List<Event> events = events();
    assertEquals(1, events.size());
    assertEquals(EventType.VERDICT.number(), events.getFirst().type());
    assertEquals(DropReason.POLICY_DENIED.number(), events.getFirst().reason());
    assertEquals(PolicyFlag.AUDIT.number(), events.getFirst().policyFlags());
  }

  @Test
  void shouldEmitNoEventForDroppedLinkControl() {
    node.with(ALICE, EndpointOption.DROP_NOTIFICATION);
    node.policyOf(ALICE).allowAll(PolicyDirection.EGRESS);
    for (final int type : new int[] {133, 143}) {
      final IpPacket control =
          Packets.ipv6("fe80::11", "ff02::2").ttl(255).icmp(type, 0, new byte[4]);
      node.fromWorkload(ALICE, control.from(ALICE.mac())).dropsFor(DropReason.NEIGHBOUR_UNKNOWN);
      node.toWorkload(ALICE, control).dropsFor(DropReason.NEIGHBOUR_UNKNOWN);
    }
    assertTrue(events().isEmpty());
  }

  @ParameterizedTest
  @EnumSource
  void shouldDescribeThePacketOfEachDirection(Family family) {
    node.with(ALICE, EndpointOption.DROP_NOTIFICATION);
    final IpPacket sent = family.packet(ALICE, PEER).tcp(40000, 80).syn().payload("hello");
    final IpPacket received = family.packet(PEER, ALICE).tcp(81, 40001).fin().ack();
    final long before = System.nanoTime();
    node.fromWorkload(ALICE, sent).dropsFor(DropReason.POLICY_DENIED);
    node.toWorkload(ALICE, received).dropsFor(DropReason.POLICY_DENIED);
    final List<Header> headers = new ArrayList<>();
    ring.poll(
        (buffer, offset, length) -> {
          final FlowEventFlyweight event = new FlowEventFlyweight().wrap(buffer, offset);
          headers.add(Header.of(event));
          assertTrue(event.timestampNs() >= before && event.timestampNs() <= System.nanoTime());
          assertEquals(LOOPBACK_IFINDEX, event.ifindex());
        },
        10);
    final int number = family == Family.IPV4 ? 4 : 6;
    final int syn = 2;
    final int finAck = 17;
    assertEquals(
        List.of(
            new Header(EGRESS, number, syn, words(family, ALICE), words(family, PEER), 40000, 80),
            new Header(
                INGRESS, number, finAck, words(family, PEER), words(family, ALICE), 81, 40001)),
        headers);
  }

  @ParameterizedTest
  @EnumSource
  void shouldNameNoTcpFlagsOfAnotherProtocol(Family family) {
    node.with(ALICE, EndpointOption.DROP_NOTIFICATION);
    final List<byte[]> fragments =
        family.packet(ALICE, PEER).udp(40000, 53).payloadOf(1200).fragments(512);
    node.policyOf(ALICE).allowTo(PEER, UDP, 53);
    node.fromWorkload(ALICE, fragments.get(0)).passes();
    node.policyOf(ALICE).revokeTo(PEER, UDP, 53);
    node.raiseGeneration(ALICE.id);
    node.fromWorkload(ALICE, fragments.get(1)).dropsFor(DropReason.POLICY_DENIED);
    ring.poll(
        (buffer, offset, length) ->
            assertEquals(0, new FlowEventFlyweight().wrap(buffer, offset).tcpFlags()),
        10);
  }

  @ParameterizedTest
  @EnumSource
  void shouldTraceNewFlowsWithMaximumAggregation(Family family) {
    trace(AggregationLevel.MAXIMUM);
    assertEquals(List.of(1, 0, 0, 0, 0, 0), tracedPackets(family));
  }

  @ParameterizedTest
  @EnumSource
  void shouldTraceChangesOfStateWithMediumAggregation(Family family) {
    trace(AggregationLevel.MEDIUM);
    assertEquals(List.of(1, 1, 1, 0, 0, 1), tracedPackets(family));
  }

  @ParameterizedTest
  @EnumSource
  void shouldTraceRefreshesWithLowAggregation(Family family) {
    trace(AggregationLevel.LOW);
    assertEquals(List.of(1, 1, 1, 0, 1, 1), tracedPackets(family));
  }

  @ParameterizedTest
  @EnumSource
  void shouldTraceEachPacketWithoutAggregation(Family family) {
    trace(AggregationLevel.NONE);
    assertEquals(List.of(1, 1, 1, 1, 1, 1), tracedPackets(family));
  }

  @ParameterizedTest
  @EnumSource
  void shouldCountTheEventsThatTheRingCannotHold(Family family) {
    node.with(ALICE, EndpointOption.DROP_NOTIFICATION);
    final int packets = 20_000;
    final LostEvents lost = new LostEvents(node.map("events_lost"));
    node.repeatFromWorkload(ALICE, family.packet(ALICE, PEER).udp(40000, 53), packets);
    final int kept = ring.poll((buffer, offset, length) -> {}, Integer.MAX_VALUE);
    assertTrue(kept > 0 && kept < packets, () -> kept + " events");
    assertEquals(packets - kept, lost.read());
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(40000, 53))
        .dropsFor(DropReason.POLICY_DENIED);
    assertEquals(packets - kept, lost.read(), "there is room again");
    assertEquals(1, events().size());
  }

  @ParameterizedTest
  @EnumSource
  void shouldEmitADropByTheOptionsOfTheEndpointWhosePolicyItIs(Family family) {
    node.with(BOB, EndpointOption.DROP_NOTIFICATION);
    node.policyOf(ALICE).allowTo(BOB, UDP, 53);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).udp(40000, 53))
        .dropsAtPeerFor(DropReason.POLICY_DENIED);
    assertEquals(List.of(judge(EventType.DROP, BOB, INGRESS)), judges());
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).udp(40000, 54))
        .dropsFor(DropReason.POLICY_DENIED);
    assertEquals(List.of(), judges());
    node.without(BOB, EndpointOption.DROP_NOTIFICATION);
    node.with(ALICE, EndpointOption.DROP_NOTIFICATION);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).udp(40000, 53))
        .dropsAtPeerFor(DropReason.POLICY_DENIED);
    assertEquals(List.of(), judges());
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).udp(40000, 54))
        .dropsFor(DropReason.POLICY_DENIED);
    assertEquals(List.of(judge(EventType.DROP, ALICE, EGRESS)), judges());
  }

  @ParameterizedTest
  @EnumSource
  void shouldEmitAnAuditedVerdictByTheOptionsOfTheEndpointThatAudits(Family family) {
    node.with(BOB, EndpointOption.POLICY_AUDIT_MODE);
    node.policyOf(ALICE).allowTo(BOB, UDP, 53);
    node.with(ALICE, EndpointOption.DROP_NOTIFICATION);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).udp(40000, 53)).reaches(BOB);
    assertEquals(List.of(), judges());
    node.with(BOB, EndpointOption.DROP_NOTIFICATION);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).udp(40001, 53)).reaches(BOB);
    assertEquals(List.of(judge(EventType.VERDICT, BOB, INGRESS)), judges());
    node.without(BOB, EndpointOption.DROP_NOTIFICATION);
    node.with(BOB, EndpointOption.POLICY_VERDICT_NOTIFICATION);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).udp(40002, 53)).reaches(BOB);
    assertEquals(List.of(judge(EventType.VERDICT, BOB, INGRESS)), judges());
  }

  /** The policy on the other direction is asked, too, and its answer is no verdict. */
  @ParameterizedTest
  @EnumSource
  void shouldEmitNoAuditedVerdictOnAPacketWithinAConnectionThatPolicyAllows(Family family) {
    node.with(ALICE, EndpointOption.POLICY_AUDIT_MODE);
    node.with(ALICE, EndpointOption.DROP_NOTIFICATION);
    node.policyOf(ALICE).allowTo(PEER, TCP, 80);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).ack()).passes();
    assertEquals(List.of(), judges());
  }

  @ParameterizedTest
  @EnumSource
  void shouldEmitNoAuditedVerdictOnAPacketThatTheOtherEndDrops(Family family) {
    node.with(ALICE, EndpointOption.POLICY_AUDIT_MODE);
    node.with(ALICE, EndpointOption.DROP_NOTIFICATION);
    node.with(BOB, EndpointOption.DROP_NOTIFICATION);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).udp(40000, 53))
        .dropsAtPeerFor(DropReason.POLICY_DENIED);
    assertEquals(List.of(judge(EventType.DROP, BOB, INGRESS)), judges());
  }

  private static List<Integer> judge(EventType type, ScenarioHost endpoint, int direction) {
    return List.of(type.number(), endpoint.id, direction);
  }

  /** Returns the type, endpoint and direction of each event. */
  private List<List<Integer>> judges() {
    final List<List<Integer>> judges = new ArrayList<>();
    ring.poll(
        (buffer, offset, length) -> {
          final FlowEventFlyweight event = new FlowEventFlyweight().wrap(buffer, offset);
          judges.add(List.of(event.type(), event.endpointId(), event.direction()));
        },
        1000);
    return judges;
  }

  private void trace(AggregationLevel level) {
    node.with(ALICE, EndpointOption.TRACE_NOTIFICATION).aggregation(level.number()).withoutPolicy();
  }

  /**
   * Returns the numbers of events of: SYN, SYN/ACK, ACK, ACK, an ACK that extends the lifetime,
   * FIN.
   */
  private List<Integer> tracedPackets(Family family) {
    final IpPacket syn = family.packet(ALICE, PEER).tcp(40000, 80).syn();
    final IpPacket answer = family.packet(PEER, ALICE).tcp(80, 40000).syn().ack();
    final IpPacket ack = family.packet(ALICE, PEER).tcp(40000, 80).ack();
    final IpPacket fin = family.packet(ALICE, PEER).tcp(40000, 80).fin().ack();
    final List<Integer> counts = new ArrayList<>();
    node.fromWorkload(ALICE, syn).passes();
    counts.add(events().size());
    node.toWorkload(ALICE, answer).passes();
    counts.add(events().size());
    node.fromWorkload(ALICE, ack).passes();
    counts.add(events().size());
    final Duration longer = Duration.ofHours(7);
    node.flows().expireAfter(longer, family, ALICE, 40000, PEER, 80, TCP);
    node.fromWorkload(ALICE, ack).passes();
    counts.add(events().size());
    node.flows().expireAfter(Duration.ofHours(1), family, ALICE, 40000, PEER, 80, TCP);
    node.fromWorkload(ALICE, ack).passes();
    counts.add(events().size());
    node.fromWorkload(ALICE, fin).passes();
    counts.add(events().size());
    return counts;
  }

  /** Returns the words of an address in an event: IPv4 is in the first four bytes. */
  private static List<Long> words(Family family, ScenarioHost host) {
    return family == Family.IPV4
        ? List.of((long) host.ipv4Number() << 32, 0L)
        : List.of(host.ipv6High(), host.ipv6Low());
  }

  private List<Event> events() {
    final List<Event> events = new ArrayList<>();
    ring.poll(
        (buffer, offset, length) -> {
          final FlowEventFlyweight event = new FlowEventFlyweight().wrap(buffer, offset);
          assertEquals(FlowEventFlyweight.LENGTH, length);
          events.add(
              new Event(
                  event.type(),
                  event.reason(),
                  event.policyFlags(),
                  event.endpointId(),
                  event.sourceIdentity(),
                  event.destinationIdentity(),
                  event.sourcePort(),
                  event.destinationPort(),
                  event.protocol(),
                  event.length()));
        },
        1000);
    return events;
  }
}
