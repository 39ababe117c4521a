package agent.datapath.manager.scenario;

import static agent.datapath.manager.scenario.ScenarioHost.ALICE;
import static agent.datapath.manager.scenario.ScenarioHost.BOB;
import static agent.datapath.manager.scenario.ScenarioHost.PEER;
import static agent.datapath.manager.scenario.WorkloadPolicy.TCP;
import static agent.datapath.manager.scenario.WorkloadPolicy.UDP;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.maps.kernel.RingBufferReader;
import agent.maps.layout.DropReason;
import agent.maps.layout.EndpointFlag;
import agent.maps.layout.EndpointOption;
import agent.maps.layout.EventType;
import agent.maps.layout.FlowEventFlyweight;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.PolicyFlag;
import agent.testkit.KernelTest;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
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
    node.register(ALICE, EndpointFlag.POLICY_AUDIT.number());
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(40000, 53)).passes();
    final List<Event> events = events();
    assertEquals(1, events.size());
    assertEquals(EventType.VERDICT.number(), events.getFirst().type());
    assertEquals(DropReason.POLICY_DENIED.number(), events.getFirst().reason());
    assertEquals(PolicyFlag.AUDIT.number(), events.getFirst().policyFlags());
  }

  @ParameterizedTest
  @EnumSource
  void shouldEmitNoEventForDroppedLinkControl(Family family) {
    node.with(ALICE, EndpointOption.DROP_NOTIFICATION);
    node.policyOf(ALICE).allowAll(PolicyDirection.EGRESS);
    if (family == Family.IPV6) {
      node.fromWorkload(
              ALICE,
              agent.testkit.Packets.ipv6("fe80::11", "ff02::2")
                  .from(ALICE.mac())
                  .ttl(255)
                  .icmp(133, 0, new byte[4]))
          .dropsFor(DropReason.NEIGHBOUR_UNKNOWN);
    }
    assertTrue(events().isEmpty());
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
