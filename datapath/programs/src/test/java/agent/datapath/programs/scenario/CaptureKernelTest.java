package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.ScenarioHost.STRANGER;
import static agent.datapath.programs.scenario.WorkloadPolicy.UDP;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import agent.maps.kernel.RingBufferReader;
import agent.maps.layout.DropReason;
import agent.maps.layout.EndpointOption;
import agent.maps.layout.EventType;
import agent.maps.layout.FlowEventFlyweight;
import agent.testkit.KernelTest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The first bytes of packets, which follow their events where a subscriber wants them. */
@KernelTest
class CaptureKernelTest {
  private final ScenarioNode node = new ScenarioNode();
  private final RingBufferReader ring = new RingBufferReader(node.map("events"));

  @AfterEach
  void close() {
    ring.close();
    node.close();
  }

  private record Captured(int type, int length, int recordBytes, byte[] bytes) {}

  private List<Captured> captured() {
    final List<Captured> all = new ArrayList<>();
    ring.poll(
        (buffer, offset, length) -> {
          final FlowEventFlyweight event = new FlowEventFlyweight().wrap(buffer, offset);
          final byte[] bytes = new byte[event.capturedLength()];
          buffer.getBytes(offset + FlowEventFlyweight.LENGTH, bytes);
          all.add(new Captured(event.type(), event.length(), length, bytes));
        },
        100);
    return all;
  }

  private Captured onlyOne() {
    final List<Captured> all = captured();
    assertEquals(1, all.size());
    return all.getFirst();
  }

  private void dropCapturing(byte[] frame) {
    node.with(ALICE, EndpointOption.DROP_NOTIFICATION).with(ALICE, EndpointOption.CAPTURE);
    node.fromWorkload(ALICE, frame).dropsFor(DropReason.POLICY_DENIED);
  }

  @ParameterizedTest
  @EnumSource
  void shouldCaptureTheFirstBytesOfALongPacket(Family family) {
    final byte[] frame = family.packet(ALICE, PEER).udp(40000, 53).payloadOf(1000).bytes();
    dropCapturing(frame);
    final Captured drop = onlyOne();
    assertEquals(EventType.DROP.number(), drop.type());
    assertEquals(frame.length, drop.length());
    assertArrayEquals(Arrays.copyOf(frame, 128), drop.bytes());
  }

  @ParameterizedTest
  @EnumSource
  void shouldCaptureAShortPacketWhole(Family family) {
    final byte[] frame = family.packet(ALICE, PEER).udp(40000, 53).payload("hello").bytes();
    dropCapturing(frame);
    assertArrayEquals(frame, onlyOne().bytes());
  }

  @ParameterizedTest
  @EnumSource
  void shouldCaptureAsManyBytesAsTheOptionSays(Family family) {
    final byte[] frame = family.packet(ALICE, PEER).udp(40000, 53).payloadOf(1000).bytes();
    node.payloadBytes(65_535);
    dropCapturing(frame);
    assertArrayEquals(frame, onlyOne().bytes());
  }

  @ParameterizedTest
  @EnumSource
  void shouldCaptureASingleByte(Family family) {
    final byte[] frame = family.packet(ALICE, PEER).udp(40000, 53).bytes();
    node.payloadBytes(1);
    dropCapturing(frame);
    assertArrayEquals(Arrays.copyOf(frame, 1), onlyOne().bytes());
  }

  /** The record is as short as it was before there was a capture. */
  @ParameterizedTest
  @EnumSource
  void shouldCaptureNothingWhileNoSubscriberWantsIt(Family family) {
    final byte[] frame = family.packet(ALICE, PEER).udp(40000, 53).bytes();
    dropCapturing(frame);
    assertEquals(FlowEventFlyweight.LENGTH + 128, onlyOne().recordBytes());
    node.without(ALICE, EndpointOption.CAPTURE);
    node.fromWorkload(ALICE, frame).dropsFor(DropReason.POLICY_DENIED);
    final Captured plain = onlyOne();
    assertEquals(FlowEventFlyweight.LENGTH, plain.recordBytes());
    assertEquals(0, plain.bytes().length);
  }

  @ParameterizedTest
  @EnumSource
  void shouldCaptureNothingWhereTheOptionIsZero(Family family) {
    node.payloadBytes(0);
    dropCapturing(family.packet(ALICE, PEER).udp(40000, 53).bytes());
    final Captured drop = onlyOne();
    assertEquals(FlowEventFlyweight.LENGTH, drop.recordBytes());
    assertEquals(0, drop.bytes().length);
  }

  /** Not as it leaves: with other MAC addresses, and a lower TTL. */
  @ParameterizedTest
  @EnumSource
  void shouldCaptureAForwardedPacketAsItCame(Family family) {
    node.withoutPolicy().with(ALICE, EndpointOption.TRACE_NOTIFICATION);
    node.with(ALICE, EndpointOption.CAPTURE);
    final byte[] frame = family.packet(ALICE, BOB).udp(40000, 53).payload("hello").bytes();
    for (int i = 0; i < 2; i++) { // opens the flow, and follows it
      node.fromWorkload(ALICE, frame).reaches(BOB);
      final Captured trace = onlyOne();
      assertEquals(EventType.TRACE.number(), trace.type());
      assertArrayEquals(frame, trace.bytes());
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldCaptureAPacketBeforeItsSourceIsRewritten(Family family) {
    final byte[] frame = family.packet(ALICE, BOB).udp(40000, 53).payload("hello").bytes();
    node.withoutPolicy().fromWorkload(ALICE, frame).reaches(BOB);
    node.flows()
        .rewrite(family, ALICE, 40000, BOB, 53, UDP, new Flows.Rewriting(false, STRANGER, 5353));
    node.with(ALICE, EndpointOption.TRACE_NOTIFICATION).with(ALICE, EndpointOption.CAPTURE);
    assertFalse(Arrays.equals(frame, node.fromWorkload(ALICE, frame).frame()));
    assertArrayEquals(frame, onlyOne().bytes());
  }

  /** As the event has it, whose destination is the backend. */
  @ParameterizedTest
  @EnumSource
  void shouldCaptureAPacketToAServiceAsOneToItsBackend(Family family) {
    node.withoutPolicy()
        .with(ALICE, EndpointOption.SERVICES)
        .with(ALICE, EndpointOption.TRACE_NOTIFICATION)
        .with(ALICE, EndpointOption.CAPTURE);
    node.services(family).put(7, STRANGER, 53, UDP, 0, new ScenarioServices.Server(BOB, 5353));
    final byte[] frame = family.packet(ALICE, STRANGER).udp(40000, 53).payload("hello").bytes();
    final byte[] served = family.packet(ALICE, BOB).udp(40000, 5353).payload("hello").bytes();
    node.fromWorkload(ALICE, frame);
    assertArrayEquals(served, onlyOne().bytes());
    node.fromWorkload(ALICE, frame);
    assertArrayEquals(served, onlyOne().bytes());
  }

  /** A drop before the lookup, of a packet that is too short for its headers. */
  @Test
  void shouldCaptureAPacketWithoutWholeHeaders() {
    node.withoutPolicy().with(ALICE, EndpointOption.DROP_NOTIFICATION);
    node.with(ALICE, EndpointOption.CAPTURE);
    final byte[] whole = Family.IPV4.packet(ALICE, PEER).udp(40000, 53).bytes();
    final byte[] cut = Arrays.copyOf(whole, 14 + 20 + 4);
    node.fromWorkload(ALICE, cut).dropsFor(DropReason.MALFORMED);
    assertArrayEquals(cut, onlyOne().bytes());
  }

  /** The event names the policy of the other end; the bytes are those of the packet. */
  @ParameterizedTest
  @EnumSource
  void shouldCaptureByTheOptionsOfTheEndpointWhosePolicyDrops(Family family) {
    node.with(BOB, EndpointOption.DROP_NOTIFICATION).with(BOB, EndpointOption.CAPTURE);
    node.policyOf(ALICE).allowTo(BOB, UDP, 53);
    final byte[] frame = family.packet(ALICE, BOB).udp(40000, 53).bytes();
    node.fromWorkload(ALICE, frame).dropsAtPeerFor(DropReason.POLICY_DENIED);
    assertArrayEquals(frame, onlyOne().bytes());
  }
}
