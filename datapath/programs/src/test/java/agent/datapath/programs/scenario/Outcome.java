package agent.datapath.programs.scenario;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.maps.layout.DropReason;
import agent.testkit.IpPacket;
import agent.testkit.ParsedPacket;
import java.nio.ByteBuffer;

/**
 * The result of a program run on one packet.
 *
 * @param action the TC_ACT_ or XDP_ number
 * @param sent the input packet
 * @param frame the output packet
 * @param counted the drop reason that the run counted; NONE for a forwarded packet, null where the
 *     run counted nothing
 * @param countedAtPeer the drop reason that was counted for the endpoint on the other side, or null
 */
record Outcome(
    int action, byte[] sent, byte[] frame, DropReason counted, DropReason countedAtPeer) {
  static final int PASS = -1;
  static final int SHOT = 2;
  static final int REDIRECT = 7;

  /** Asserts that the packet passes unchanged to the stack and is counted as forwarded. */
  Outcome passes() {
    assertEquals(PASS, action, this::toString);
    assertEquals(DropReason.NONE, counted, this::toString);
    assertArrayEquals(sent, frame);
    return this;
  }

  /**
   * Asserts that the packet passes unchanged to the stack and is not counted, as ARP and neighbour
   * discovery.
   */
  Outcome passesUncounted() {
    assertEquals(PASS, action, this::toString);
    assertEquals(null, counted, this::toString);
    assertArrayEquals(sent, frame);
    return this;
  }

  Outcome dropsFor(DropReason reason) {
    assertEquals(SHOT, action, this::toString);
    assertEquals(reason, counted, this::toString);
    assertEquals(null, countedAtPeer, this::toString);
    return this;
  }

  /** Asserts that a fragment waits for its first one, and is not counted yet. */
  Outcome waits() {
    assertEquals(SHOT, action, this::toString);
    assertEquals(null, counted, this::toString);
    assertEquals(null, countedAtPeer, this::toString);
    return this;
  }

  /** Asserts that the packet is dropped, and that its sender gets an answer in its place. */
  Outcome rejectsAs(DropReason reason, ScenarioHost sender, IpPacket answer) {
    assertEquals(REDIRECT, action, this::toString);
    assertEquals(reason, counted, this::toString);
    assertArrayEquals(answer.from(sender.hostMac()).to(sender.mac()).bytes(), frame);
    assertTrue(parsed().checksumsAreRight(), "checksums");
    return this;
  }

  /** Asserts that the policy of the endpoint on the other side drops the packet. */
  Outcome dropsAtPeerFor(DropReason reason) {
    assertEquals(SHOT, action, this::toString);
    assertEquals(reason, countedAtPeer, this::toString);
    assertEquals(null, counted, this::toString);
    return this;
  }

  /** Asserts that the policy of a workload drops a packet of the sender. */
  Outcome dropsOf(ScenarioHost sender, ScenarioHost judge, DropReason reason) {
    return sender == judge ? dropsFor(reason) : dropsAtPeerFor(reason);
  }

  /**
   * Asserts that the packet is redirected to the workload with its MAC addresses and a decremented
   * TTL.
   */
  Outcome reaches(ScenarioHost workload) {
    assertEquals(REDIRECT, action, this::toString);
    assertEquals(DropReason.NONE, counted, this::toString);
    final ParsedPacket before = ParsedPacket.of(sent);
    final ParsedPacket after = parsed();
    assertEquals(workload.mac(), after.destinationMac());
    assertEquals(workload.hostMac(), after.sourceMac());
    assertEquals(before.ttl() - 1, after.ttl());
    assertEquals(before.source(), after.source());
    assertEquals(before.destination(), after.destination());
    assertArrayEquals(before.payload(), after.payload());
    assertTrue(after.checksumsAreRight(), "checksums");
    return this;
  }

  /**
   * Asserts that the packet leaves by a device of the network, with a decremented TTL; the kernel
   * writes its MAC addresses.
   */
  Outcome leaves() {
    assertEquals(REDIRECT, action, this::toString);
    assertEquals(DropReason.NONE, counted, this::toString);
    final ParsedPacket before = ParsedPacket.of(sent);
    final ParsedPacket after = parsed();
    assertEquals(before.destinationMac(), after.destinationMac());
    assertEquals(before.sourceMac(), after.sourceMac());
    assertEquals(before.ttl() - 1, after.ttl());
    assertEquals(before.source(), after.source());
    assertEquals(before.destination(), after.destination());
    assertArrayEquals(before.payload(), after.payload());
    assertTrue(after.checksumsAreRight(), "checksums");
    return this;
  }

  /** Asserts that the workload receives a packet as it would be sent afresh. */
  Outcome reachesAs(ScenarioHost workload, IpPacket expected) {
    assertEquals(REDIRECT, action, this::toString);
    assertEquals(DropReason.NONE, counted, this::toString);
    final byte[] delivered = delivered(workload, expected);
    assertArrayEquals(delivered, numberedAs(delivered));
    assertTrue(parsed().checksumsAreRight(), "checksums");
    return this;
  }

  /** Asserts that the stack gets another packet than was sent. */
  Outcome passesAs(IpPacket expected) {
    assertEquals(PASS, action, this::toString);
    assertEquals(DropReason.NONE, counted, this::toString);
    assertArrayEquals(expected.bytes(), numberedAs(expected.bytes()));
    assertTrue(parsed().checksumsAreRight(), "checksums");
    return this;
  }

  /** Asserts that the stack gets another fragment than was sent. */
  Outcome passesAs(byte[] expected) {
    assertEquals(PASS, action, this::toString);
    assertEquals(DropReason.NONE, counted, this::toString);
    assertArrayEquals(expected, frame);
    return this;
  }

  /** Asserts that another fragment than was sent passes, and is not counted. */
  Outcome passesUncountedAs(byte[] expected) {
    assertEquals(PASS, action, this::toString);
    assertEquals(null, counted, this::toString);
    assertArrayEquals(expected, frame);
    return this;
  }

  /** Asserts that another packet than was sent passes, and is not counted. */
  Outcome passesUncountedAs(IpPacket expected) {
    assertEquals(PASS, action, this::toString);
    assertEquals(null, counted, this::toString);
    assertArrayEquals(expected.bytes(), numberedAs(expected.bytes()));
    assertTrue(parsed().checksumsAreRight(), "checksums");
    return this;
  }

  /** Asserts that another packet than was sent leaves by a device of the network. */
  Outcome leavesAs(IpPacket expected) {
    assertEquals(REDIRECT, action, this::toString);
    assertEquals(DropReason.NONE, counted, this::toString);
    assertArrayEquals(expected.ttl(63).bytes(), numberedAs(expected.bytes()));
    assertTrue(parsed().checksumsAreRight(), "checksums");
    return this;
  }

  /** Returns the frame of a packet as the workload receives it. */
  static byte[] delivered(ScenarioHost workload, IpPacket packet) {
    return packet.from(workload.hostMac()).to(workload.mac()).ttl(63).bytes();
  }

  /** Asserts that the packet passes to the stack, or on a routed node leaves by the device. */
  Outcome isForwarded() {
    return action == PASS ? passes() : leaves();
  }

  /**
   * Returns the frame with the identification of another one where routers may split it: such a
   * datagram has a number of its own where its source is rewritten.
   */
  private byte[] numberedAs(byte[] expected) {
    final ByteBuffer packet = ByteBuffer.wrap(frame.clone());
    if (packet.getShort(12) != 0x0800 || packet.getShort(20) != 0 || frame.length < 34) {
      return frame;
    }
    assertTrue(parsed().checksumsAreRight(), "checksums");
    final ByteBuffer other = ByteBuffer.wrap(expected);
    packet.putShort(18, other.getShort(18)).putShort(24, other.getShort(24)); // with its checksum
    return packet.array();
  }

  ParsedPacket parsed() {
    return ParsedPacket.of(frame);
  }

  @Override
  public String toString() {
    return "action "
        + action
        + ", counted "
        + counted
        + ", at peer "
        + countedAtPeer
        + ", "
        + frame.length
        + " bytes";
  }
}
