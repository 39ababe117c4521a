package agent.maps.layout;

import static agent.maps.layout.StructSpec.Scalar.BE16;
import static agent.maps.layout.StructSpec.Scalar.U32;
import static agent.maps.layout.StructSpec.Scalar.U8;
import static java.nio.ByteOrder.BIG_ENDIAN;
import static org.agrona.BitUtil.SIZE_OF_BYTE;
import static org.agrona.BitUtil.SIZE_OF_INT;
import static org.agrona.BitUtil.SIZE_OF_SHORT;

import org.agrona.MutableDirectBuffer;

/**
 * Key of a policy map, an LPM trie; {@code prefix_length} counts the bits after that member. {@code
 * struct policy_key} in {@code maps/policy_map.h}.
 *
 * <pre>
 *  0               1               2               3
 *  0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                         prefix_length                         |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                            identity                           |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |   direction   |    protocol   |            port_be            |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * </pre>
 */
public final class PolicyKeyFlyweight {
  public static final int PREFIX_LENGTH_OFFSET = 0;
  public static final int IDENTITY_OFFSET = PREFIX_LENGTH_OFFSET + SIZE_OF_INT;
  public static final int DIRECTION_OFFSET = IDENTITY_OFFSET + SIZE_OF_INT;
  public static final int PROTOCOL_OFFSET = DIRECTION_OFFSET + SIZE_OF_BYTE;
  public static final int PORT_BE_OFFSET = PROTOCOL_OFFSET + SIZE_OF_BYTE;
  public static final int LENGTH = PORT_BE_OFFSET + SIZE_OF_SHORT;

  public static final StructSpec STRUCT =
      StructSpec.named("policy_key", LENGTH)
          .scalar("prefix_length", PREFIX_LENGTH_OFFSET, U32)
          .scalar("identity", IDENTITY_OFFSET, U32)
          .scalar("direction", DIRECTION_OFFSET, U8)
          .scalar("protocol", PROTOCOL_OFFSET, U8)
          .scalar("port_be", PORT_BE_OFFSET, BE16)
          .build();

  private MutableDirectBuffer buffer;
  private int offset;

  /** Wraps {@value #LENGTH} bytes of the buffer from {@code offset}. */
  public PolicyKeyFlyweight wrap(MutableDirectBuffer buffer, int offset) {
    this.buffer = buffer;
    this.offset = offset;
    return this;
  }

  /** Sets every byte to zero, including the reserved ones. */
  public PolicyKeyFlyweight clear() {
    buffer.setMemory(offset, LENGTH, (byte) 0);
    return this;
  }

  /**
   * Returns {@code prefix_length}, a constant of {@link PolicyPrefix}, or 49 to 63 for a port
   * range.
   */
  public int prefixLength() {
    return buffer.getInt(offset + PREFIX_LENGTH_OFFSET);
  }

  /**
   * Sets {@code prefix_length}, a constant of {@link PolicyPrefix}, or 49 to 63 for a port range.
   */
  public PolicyKeyFlyweight prefixLength(int value) {
    buffer.putInt(offset + PREFIX_LENGTH_OFFSET, value);
    return this;
  }

  /** Returns {@code identity}, the peer's identity; 0 means any. */
  public int identity() {
    return buffer.getInt(offset + IDENTITY_OFFSET);
  }

  /** Sets {@code identity}, the peer's identity; 0 means any. */
  public PolicyKeyFlyweight identity(int value) {
    buffer.putInt(offset + IDENTITY_OFFSET, value);
    return this;
  }

  /** Returns {@code direction}, a number of {@link PolicyDirection}. */
  public int direction() {
    return buffer.getByte(offset + DIRECTION_OFFSET) & 0xff;
  }

  /** Sets {@code direction}, a number of {@link PolicyDirection}. */
  public PolicyKeyFlyweight direction(int value) {
    buffer.putByte(offset + DIRECTION_OFFSET, (byte) value);
    return this;
  }

  /** Returns {@code protocol}, the layer 4 protocol number; 0 if the prefix does not cover it. */
  public int protocol() {
    return buffer.getByte(offset + PROTOCOL_OFFSET) & 0xff;
  }

  /** Sets {@code protocol}, the layer 4 protocol number; 0 if the prefix does not cover it. */
  public PolicyKeyFlyweight protocol(int value) {
    buffer.putByte(offset + PROTOCOL_OFFSET, (byte) value);
    return this;
  }

  /** Returns {@code port_be} in host byte order, the responder's port or the ICMP message type. */
  public int port() {
    return buffer.getShort(offset + PORT_BE_OFFSET, BIG_ENDIAN) & 0xffff;
  }

  /** Sets {@code port_be} in host byte order, the responder's port or the ICMP message type. */
  public PolicyKeyFlyweight port(int value) {
    buffer.putShort(offset + PORT_BE_OFFSET, (short) value, BIG_ENDIAN);
    return this;
  }
}
