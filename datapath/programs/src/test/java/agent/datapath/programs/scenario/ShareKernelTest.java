package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.ScenarioNode.DEVICE_MAC;
import static agent.datapath.programs.scenario.WorkloadPolicy.TCP;
import static agent.datapath.programs.scenario.WorkloadPolicy.UDP;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.programs.scenario.ScenarioServices.Server;
import agent.maps.kernel.EndpointRates;
import agent.maps.kernel.FlowUsageArray;
import agent.maps.kernel.RingBufferReader;
import agent.maps.layout.ConntrackFlag;
import agent.maps.layout.ConntrackTable;
import agent.maps.layout.DropReason;
import agent.maps.layout.EndpointOption;
import agent.maps.layout.EventType;
import agent.maps.layout.FlowEventFlyweight;
import agent.maps.layout.PolicyDirection;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What one endpoint may use of what all of them share. */
@KernelTest
class ShareKernelTest {
  private static final int CAPACITY = 100;
  private static final int SHARE = CAPACITY / 2; // the flows of one equal the free entries then

  /** What all have is what the outside has, where no endpoint has any: half of what is free. */
  private static final int SHARE_OF_OUTSIDE = CAPACITY / 4;

  private final ScenarioNode node = new ScenarioNode().capacity(CAPACITY, 100).withoutPolicy();
  private final FlowUsageArray usage = new FlowUsageArray(node.map("flow_usage"));
  private final EndpointRates rates = new EndpointRates(node.map("endpoint_rates"));

  @AfterEach
  void close() {
    rates.close();
    usage.close();
    node.close();
  }

  @ParameterizedTest
  @EnumSource
  void shouldPutTheFlowsBeyondTheShareOfAnEndpointIntoTheOverflow(Family family) {
    open(family, ALICE, 0, SHARE);
    assertEquals(List.of(SHARE, 0L), List.of((int) node.flows().count(), inOverflow()));
    assertEquals(0, usage.overflowed(ALICE.id));
    open(family, ALICE, SHARE, 3);
    assertEquals(SHARE, node.flows().count());
    assertEquals(3, inOverflow());
    assertEquals(SHARE, usage.entries(ALICE.id, tcp(family)));
    assertEquals(SHARE, usage.entries(FlowUsageArray.NODE, tcp(family)));
    assertEquals(3, usage.overflowed(ALICE.id));
    assertEquals(3, usage.overflowed(FlowUsageArray.NODE));
  }

  /** Each has two entries. They pass as before. */
  @ParameterizedTest
  @EnumSource
  void shouldPutTheRelayedFlowsBeyondTheShareOfTheOutsideIntoTheOverflow(Family family) {
    node.routed().masquerade(ScenarioNetwork.DEVICE, ScenarioHost.NODE);
    final Server backend = new Server(PEER, 8080);
    node.services(family).putOutside(1, family.address(ScenarioHost.NODE), 80, TCP, 0, backend);
    final int flows = 30;
    for (int i = 0; i < flows; i++) {
      final IpPacket query = family.packet(ScenarioHost.FAR, ScenarioHost.NODE);
      final Outcome outcome = node.fromNetwork(query.tcp(40000 + i, 80).syn().to(DEVICE_MAC));
      assertEquals(Outcome.REDIRECT, outcome.action());
    }
    assertEquals(2 * SHARE_OF_OUTSIDE, node.flows().count());
    assertEquals(2 * (flows - SHARE_OF_OUTSIDE), inOverflow());
    assertEquals(2 * SHARE_OF_OUTSIDE, usage.entries(FlowUsageArray.NODE, tcp(family)));
    for (int i = 0; i < flows; i++) {
      final IpPacket answer = family.packet(PEER, ScenarioHost.NODE);
      final Outcome outcome = node.fromNetwork(answer.tcp(8080, 40000 + i).ack().to(DEVICE_MAC));
      assertEquals(80, outcome.parsed().sourcePort());
    }
  }

  /** The share is a part of what is free, so that many endpoints together leave some, too. */
  @ParameterizedTest
  @EnumSource
  void shouldGiveEachEndpointAPartOfWhatTheOthersLeave(Family family) {
    open(family, ALICE, 0, CAPACITY);
    open(family, BOB, 0, CAPACITY);
    assertEquals(SHARE, usage.entries(ALICE.id, tcp(family)));
    assertEquals(SHARE / 2, usage.entries(BOB.id, tcp(family)));
    assertEquals(SHARE + SHARE / 2, node.flows().count());
  }

  @ParameterizedTest
  @EnumSource
  void shouldCountTheFlowsOfEachTableApart(Family family) {
    open(family, ALICE, 0, SHARE + 1);
    for (int i = 0; i <= CAPACITY; i++) {
      node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(40000 + i, 53)).passes();
    }
    assertEquals(SHARE, usage.entries(ALICE.id, tcp(family)));
    assertEquals(
        CAPACITY, usage.entries(ALICE.id, tcp(family) + 1), "the others have twice as much");
    assertEquals(2, inOverflow());
    final Family other = family == Family.IPV4 ? Family.IPV6 : Family.IPV4;
    node.fromWorkload(ALICE, other.packet(ALICE, PEER).tcp(40000, 80).syn()).passes();
    assertEquals(1, usage.entries(ALICE.id, tcp(other)));
  }

  @ParameterizedTest
  @EnumSource
  void shouldMultiplyTheFreeEntriesByTheConfiguredPart(Family family) {
    node.capacity(CAPACITY, 300);
    open(family, ALICE, 0, CAPACITY);
    assertEquals(75, usage.entries(ALICE.id, tcp(family)));
    assertEquals(25, inOverflow());
  }

  @ParameterizedTest
  @EnumSource
  void shouldCountFromWhatTheLastSweepHasLeft(Family family) {
    open(family, ALICE, 0, SHARE + 1);
    for (final int index : new int[] {ALICE.id, FlowUsageArray.NODE}) {
      usage.credit(index, tcp(family), usage.opened(index, tcp(family)) - 10);
    }
    open(family, ALICE, CAPACITY, SHARE);
    assertEquals(SHARE, usage.entries(ALICE.id, tcp(family)));
    assertEquals(SHARE + 40, node.flows().count(), "room for those that the sweep has not found");
  }

  /** A flow from outside is that of the endpoint to which it was opened. */
  @ParameterizedTest
  @EnumSource
  void shouldCountAFlowForTheEndpointThatOpenedItOrReceivesItFromOutside(Family family) {
    node.toWorkload(ALICE, family.packet(PEER, ALICE).tcp(40000, 80).syn()).passes();
    assertEquals(1, usage.entries(ALICE.id, tcp(family)));
    node.fromWorkload(BOB, family.packet(BOB, ALICE).tcp(40000, 80).syn()).reaches(ALICE);
    assertEquals(1, usage.entries(ALICE.id, tcp(family)));
    assertEquals(1, usage.entries(BOB.id, tcp(family)));
    node.toWorkload(BOB, family.packet(PEER, BOB).udp(40000, 80)).passes();
    assertEquals(1, usage.entries(BOB.id, tcp(family) + 1));
  }

  @ParameterizedTest
  @EnumSource
  void shouldFollowAFlowInTheOverflow(Family family) {
    node.routed();
    open(family, ALICE, 0, SHARE + 1);
    final int port = 40000 + SHARE;
    denyAll(ALICE);
    node.fromNetwork(family.packet(PEER, ALICE).to(DEVICE_MAC).tcp(80, port).syn().ack())
        .reaches(ALICE);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(port, 80).ack()).leaves();
    assertTrue(flow(family, port).has(ConntrackFlag.SEEN_REPLY));
    assertTrue(flow(family, port).has(ConntrackFlag.SEEN_NON_SYN));
    node.raiseGeneration(ALICE.id);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(port, 80).ack())
        .dropsFor(DropReason.POLICY_DENIED);
    assertTrue(flow(family, port).has(ConntrackFlag.DENIED));
    assertTrue(flow(family, port).has(ConntrackFlag.OVERFLOW));
    assertEquals(SHARE, node.flows().count(), "one entry a flow");
    assertEquals(1, inOverflow());
  }

  @ParameterizedTest
  @EnumSource
  void shouldReplaceAnEntryInItsTable(Family family) {
    open(family, ALICE, 0, SHARE + 1);
    final int port = 40000 + SHARE;
    node.flows().expireAfter(Duration.ofSeconds(-1), family, ALICE, 40000, PEER, 80, TCP);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).syn()).passes();
    assertFalse(flow(family, 40000).has(ConntrackFlag.OVERFLOW), "though the share is used up");
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(port, 80).fin().ack()).passes();
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(port, 80).syn()).passes();
    assertTrue(flow(family, port).has(ConntrackFlag.OVERFLOW));
    assertEquals(SHARE, node.flows().count());
    assertEquals(1, inOverflow());
    assertEquals(SHARE, usage.entries(ALICE.id, tcp(family)), "a replaced entry is no further one");
  }

  @ParameterizedTest
  @EnumSource
  void shouldLookIntoTheOverflowOnlyWhileItIsUsed(Family family) {
    node.routed();
    open(family, ALICE, 0, SHARE + 1);
    assertTrue(usage.isOverflowUsed());
    usage.emptied(usage.overflowed(FlowUsageArray.NODE));
    final int port = 40000 + SHARE;
    denyAll(ALICE);
    node.fromNetwork(family.packet(PEER, ALICE).to(DEVICE_MAC).tcp(80, port).ack())
        .passesUncounted();
    usage.emptied(0);
    node.fromNetwork(family.packet(PEER, ALICE).to(DEVICE_MAC).tcp(80, port).ack()).reaches(ALICE);
  }

  @ParameterizedTest
  @EnumSource
  void shouldStoreTheFragmentsBeyondTheShareOfAnEndpointInTheOverflow(Family family) {
    node.fragmentsPerSecond(1);
    final int datagrams = 100;
    for (int id = 0; id < datagrams; id++) {
      node.fromWorkload(ALICE, fragment(family, ALICE, id, 0)).passes();
    }
    final long stored = node.map(fragments(family)).countEntries();
    final long overflowed = node.map(fragments(family) + "_overflow").countEntries();
    assertEquals(datagrams, stored + overflowed);
    assertEquals(rates.fragmentsOverflowed(), overflowed);
    assertTrue(overflowed > 0 && stored > 0, stored + " and " + overflowed); // one in each second
    for (int id = 0; id < datagrams; id++) {
      node.fromWorkload(ALICE, fragment(family, ALICE, id, 1)).passes();
    }
    node.fromWorkload(BOB, fragment(family, BOB, 1, 0)).passes();
    assertEquals(overflowed, rates.fragmentsOverflowed(), "the share of each endpoint is its own");
  }

  /** An id is used again: the ports of the later datagram count. */
  @ParameterizedTest
  @EnumSource
  void shouldFindTheLastFirstFragmentOfAnId(Family family) {
    node.fragmentsPerSecond(1);
    final List<byte[]> later =
        family.packet(ALICE, PEER).id(7).udp(40000, 54).payloadOf(1200).fragments(512);
    final long endNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
    boolean isFirstShared;
    boolean isSecondShared;
    do { // until both are sent within a second, and are the first ones of it
      assertTrue(System.nanoTime() < endNs);
      final long before = rates.fragmentsOverflowed();
      node.fromWorkload(ALICE, fragment(family, ALICE, 7, 0)).passes();
      final long between = rates.fragmentsOverflowed();
      node.fromWorkload(ALICE, later.get(0)).passes();
      isFirstShared = between == before;
      isSecondShared = rates.fragmentsOverflowed() == between;
    } while (!isFirstShared || isSecondShared);
    node.policyOf(ALICE).denyTo(PEER, UDP, 54);
    node.raiseGeneration(ALICE.id);
    node.fromWorkload(ALICE, later.get(1)).dropsFor(DropReason.POLICY_DENY_RULE);
  }

  @Test
  void shouldLimitTheEventsOfAnEndpointAndCountTheRest() {
    final int limit = 50;
    final int packets = 20 * limit;
    node.eventsPerSecond(limit);
    node.with(ALICE, EndpointOption.DROP_NOTIFICATION);
    node.with(BOB, EndpointOption.DROP_NOTIFICATION);
    denyAll(ALICE);
    denyAll(BOB);
    try (RingBufferReader ring = new RingBufferReader(node.map("events"))) {
      node.repeatFromWorkload(ALICE, Family.IPV4.packet(ALICE, PEER).udp(40000, 53), packets);
      final int kept = ring.poll((buffer, offset, length) -> {}, Integer.MAX_VALUE);
      assertEquals(packets - kept, rates.eventsSuppressed());
      assertTrue(kept >= limit && kept <= 2 * limit, kept + " events"); // one or two windows
      node.fromWorkload(BOB, Family.IPV4.packet(BOB, PEER).udp(40000, 53))
          .dropsFor(DropReason.POLICY_DENIED);
      assertEquals(1, ring.poll((buffer, offset, length) -> {}, 10), "another endpoint's");
    }
  }

  @Test
  void shouldStartAgainInTheNextSecond() throws InterruptedException {
    node.eventsPerSecond(1);
    node.with(ALICE, EndpointOption.DROP_NOTIFICATION);
    denyAll(ALICE);
    try (RingBufferReader ring = new RingBufferReader(node.map("events"))) {
      for (int i = 0; i < 3; i++) {
        node.repeatFromWorkload(ALICE, Family.IPV4.packet(ALICE, PEER).udp(40000, 53), 100);
        assertTrue(ring.poll((buffer, offset, length) -> {}, 1000) >= 1);
        Thread.sleep(1100); // a window is 1.07 s
      }
    }
  }

  /** The drop tells the verdict. */
  @ParameterizedTest
  @EnumSource
  void shouldEmitOneEventForADeniedPacket(Family family) {
    denyAll(ALICE);
    node.with(ALICE, EndpointOption.DROP_NOTIFICATION);
    node.with(ALICE, EndpointOption.POLICY_VERDICT_NOTIFICATION);
    assertEquals(EventType.DROP.number(), eventOfADeniedPacket(family));
    node.without(ALICE, EndpointOption.DROP_NOTIFICATION);
    assertEquals(EventType.VERDICT.number(), eventOfADeniedPacket(family));
  }

  private int eventOfADeniedPacket(Family family) {
    final int[] type = new int[1];
    try (RingBufferReader ring = new RingBufferReader(node.map("events"))) {
      node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).syn())
          .dropsFor(DropReason.POLICY_DENIED);
      final int events =
          ring.poll(
              (buffer, offset, length) ->
                  type[0] = new FlowEventFlyweight().wrap(buffer, offset).type(),
              10);
      assertEquals(1, events);
    }
    return type[0];
  }

  private void open(Family family, ScenarioHost from, int first, int count) {
    for (int i = 0; i < count; i++) {
      node.fromWorkload(from, family.packet(from, PEER).tcp(40000 + first + i, 80).syn()).passes();
    }
  }

  private Flows.Flow flow(Family family, int port) {
    final Flows.Flow flow = node.flows().find(family, ALICE, port, PEER, 80, TCP);
    assertNotNull(flow);
    return flow;
  }

  private void denyAll(ScenarioHost workload) {
    node.policyOf(workload).revokeAll(PolicyDirection.INGRESS).revokeAll(PolicyDirection.EGRESS);
  }

  private long inOverflow() {
    return node.flows().inOverflow();
  }

  private static int tcp(Family family) {
    return (family == Family.IPV4 ? ConntrackTable.TCP4 : ConntrackTable.TCP6).number();
  }

  private static String fragments(Family family) {
    return family == Family.IPV4 ? "fragments4" : "fragments6";
  }

  private static byte[] fragment(Family family, ScenarioHost from, int id, int index) {
    return family
        .packet(from, PEER)
        .id(id)
        .udp(40000, 53)
        .payloadOf(1200)
        .fragments(512)
        .get(index);
  }
}
