package agent.datapath.programs.scenario;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.maps.layout.DropReason;
import agent.testkit.ParsedPacket;
import agent.types.IpAddress;
import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * What the load balancer did with a frame.
 *
 * @param action the XDP_ number
 * @param sent the input frame
 * @param frame the output frame
 * @param counted the reason under which it was counted; NONE for a forwarded packet, null where it
 *     was not counted
 */
record BalancerOutcome(int action, byte[] sent, byte[] frame, DropReason counted) {
  static final int DROP = 1;
  static final int PASS = 2;
  static final int TX = 3;
  static final int REDIRECT = 4;

  private static final int ETHERNET_BYTES = 14;

  /** Asserts that the stack gets the frame as it was. */
  void passes() {
    assertEquals(PASS, action, this::toString);
    assertArrayEquals(sent, frame);
    assertEquals(null, counted, this::toString);
  }

  void dropsFor(DropReason reason) {
    assertEquals(DROP, action, this::toString);
    assertEquals(reason, counted, this::toString);
  }

  /**
   * Asserts that the frame is another one, but for the flow label of IPv6 and the identification of
   * an outer header, and is counted.
   */
  void becomes(int wantedAction, byte[] wanted) {
    assertEquals(wantedAction, action, this::toString);
    assertEquals(DropReason.NONE, counted, this::toString);
    assertArrayEquals(wanted, withoutLabel(frame), this::toString);
  }

  /** Asserts that the packet is answered by the way that it came. */
  void isAnsweredBy(byte[] wanted) {
    assertEquals(TX, action, this::toString);
    assertEquals(DropReason.NOT_FORWARDABLE, counted, this::toString);
    assertArrayEquals(wanted, frame, this::toString);
  }

  /** Returns the outer destination: the backend. */
  String backend() {
    return IpAddress.parse(ParsedPacket.of(frame).destination()).toString();
  }

  int flowLabel() {
    return (frame[15] & 0xf) << 16 | (frame[16] & 0xff) << 8 | frame[17] & 0xff;
  }

  /** Returns the frame with 1 as the number of an outer header of IPv4 that may be split. */
  static byte[] withoutNumber(byte[] frame) {
    final ByteBuffer packet = ByteBuffer.wrap(frame.clone());
    if (packet.get(ETHERNET_BYTES) == 0x45 && packet.getShort(20) == 0 && packet.get(23) == 4) {
      final int sum = (~packet.getShort(24) & 0xffff) + (~packet.getShort(18) & 0xffff) + 1;
      packet.putShort(24, (short) ~((sum & 0xffff) + (sum >> 16))); // RFC 1624, equation 3
      packet.putShort(18, (short) 1);
    }
    return packet.array();
  }

  /** Returns the identification of an IPv4 header. */
  static int number(byte[] frame) {
    return Short.toUnsignedInt(ByteBuffer.wrap(frame).getShort(18));
  }

  /**
   * Returns the frame without the flow label of its outer header of IPv6, or without its number.
   */
  static byte[] withoutLabel(byte[] frame) {
    final byte[] copy = withoutNumber(frame);
    if (copy[ETHERNET_BYTES] >> 4 == 6) {
      copy[15] &= (byte) 0xf0;
      copy[16] = 0;
      copy[17] = 0;
    }
    return copy;
  }

  @Override
  public String toString() {
    return "action %d, counted %s, %s".formatted(action, counted, Arrays.toString(frame));
  }
}
