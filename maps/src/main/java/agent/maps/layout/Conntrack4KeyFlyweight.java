package agent.maps.layout;

import static agent.maps.layout.StructSpec.Scalar.BE16;
import static agent.maps.layout.StructSpec.Scalar.BE32;
import static agent.maps.layout.StructSpec.Scalar.U8;
import static java.nio.ByteOrder.BIG_ENDIAN;
import static org.agrona.BitUtil.SIZE_OF_BYTE;
import static org.agrona.BitUtil.SIZE_OF_INT;
import static org.agrona.BitUtil.SIZE_OF_SHORT;

import org.agrona.MutableDirectBuffer;

/**
 * Key of an IPv4 flow: its tuple in canonical order, the same for both directions. {@code struct
 * conntrack4_key} in {@code maps/conntrack_map.h}.
 *
 * <pre>
 *  0               1               2               3
 *  0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                          low_address                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                          high_address                         |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |          low_port_be          |          high_port_be         |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |    protocol   |     scope     |            reserved           |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * </pre>
 */
public final class Conntrack4KeyFlyweight {
  public static final int LOW_ADDRESS_OFFSET = 0;
  public static final int HIGH_ADDRESS_OFFSET = LOW_ADDRESS_OFFSET + SIZE_OF_INT;
  public static final int LOW_PORT_BE_OFFSET = HIGH_ADDRESS_OFFSET + SIZE_OF_INT;
  public static final int HIGH_PORT_BE_OFFSET = LOW_PORT_BE_OFFSET + SIZE_OF_SHORT;
  public static final int PROTOCOL_OFFSET = HIGH_PORT_BE_OFFSET + SIZE_OF_SHORT;
  public static final int SCOPE_OFFSET = PROTOCOL_OFFSET + SIZE_OF_BYTE;
  public static final int RESERVED_OFFSET = SCOPE_OFFSET + SIZE_OF_BYTE;
  public static final int LENGTH = RESERVED_OFFSET + 2;

  public static final StructSpec STRUCT =
      StructSpec.named("conntrack4_key", LENGTH)
          .scalar("low_address", LOW_ADDRESS_OFFSET, BE32)
          .scalar("high_address", HIGH_ADDRESS_OFFSET, BE32)
          .scalar("low_port_be", LOW_PORT_BE_OFFSET, BE16)
          .scalar("high_port_be", HIGH_PORT_BE_OFFSET, BE16)
          .scalar("protocol", PROTOCOL_OFFSET, U8)
          .scalar("scope", SCOPE_OFFSET, U8)
          .bytes("reserved", RESERVED_OFFSET, 2)
          .build();

  private MutableDirectBuffer buffer;
  private int offset;

  /** Wraps {@value #LENGTH} bytes of the buffer from {@code offset}. */
  public Conntrack4KeyFlyweight wrap(MutableDirectBuffer buffer, int offset) {
    this.buffer = buffer;
    this.offset = offset;
    return this;
  }

  /** Sets every byte to zero, including the reserved ones. */
  public Conntrack4KeyFlyweight clear() {
    buffer.setMemory(offset, LENGTH, (byte) 0);
    return this;
  }

  /** Returns {@code low_address} as a number, first octet most significant. */
  public int lowAddress() {
    return buffer.getInt(offset + LOW_ADDRESS_OFFSET, BIG_ENDIAN);
  }

  /** Sets {@code low_address} as a number, first octet most significant. */
  public Conntrack4KeyFlyweight lowAddress(int value) {
    buffer.putInt(offset + LOW_ADDRESS_OFFSET, value, BIG_ENDIAN);
    return this;
  }

  /** Returns {@code high_address} as a number, first octet most significant. */
  public int highAddress() {
    return buffer.getInt(offset + HIGH_ADDRESS_OFFSET, BIG_ENDIAN);
  }

  /** Sets {@code high_address} as a number, first octet most significant. */
  public Conntrack4KeyFlyweight highAddress(int value) {
    buffer.putInt(offset + HIGH_ADDRESS_OFFSET, value, BIG_ENDIAN);
    return this;
  }

  /** Returns {@code low_port_be} in host byte order; of an ICMP echo, the identifier or 0. */
  public int lowPort() {
    return buffer.getShort(offset + LOW_PORT_BE_OFFSET, BIG_ENDIAN) & 0xffff;
  }

  /** Sets {@code low_port_be} in host byte order; of an ICMP echo, the identifier or 0. */
  public Conntrack4KeyFlyweight lowPort(int value) {
    buffer.putShort(offset + LOW_PORT_BE_OFFSET, (short) value, BIG_ENDIAN);
    return this;
  }

  /** Returns {@code high_port_be} in host byte order; of an ICMP echo, the identifier or 0. */
  public int highPort() {
    return buffer.getShort(offset + HIGH_PORT_BE_OFFSET, BIG_ENDIAN) & 0xffff;
  }

  /** Sets {@code high_port_be} in host byte order; of an ICMP echo, the identifier or 0. */
  public Conntrack4KeyFlyweight highPort(int value) {
    buffer.putShort(offset + HIGH_PORT_BE_OFFSET, (short) value, BIG_ENDIAN);
    return this;
  }

  /** Returns {@code protocol}, the layer 4 protocol number. */
  public int protocol() {
    return buffer.getByte(offset + PROTOCOL_OFFSET) & 0xff;
  }

  /** Sets {@code protocol}, the layer 4 protocol number. */
  public Conntrack4KeyFlyweight protocol(int value) {
    buffer.putByte(offset + PROTOCOL_OFFSET, (byte) value);
    return this;
  }

  /** Returns {@code scope}, which is 0. */
  public int scope() {
    return buffer.getByte(offset + SCOPE_OFFSET) & 0xff;
  }
}
