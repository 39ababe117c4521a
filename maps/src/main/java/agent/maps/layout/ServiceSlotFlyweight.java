package agent.maps.layout;

import static agent.maps.layout.StructSpec.Scalar.BE16;
import static agent.maps.layout.StructSpec.Scalar.U32;
import static java.nio.ByteOrder.BIG_ENDIAN;
import static org.agrona.BitUtil.SIZE_OF_INT;
import static org.agrona.BitUtil.SIZE_OF_LONG;
import static org.agrona.BitUtil.SIZE_OF_SHORT;

import org.agrona.MutableDirectBuffer;

/**
 * Value of the map {@code service_slots}: a column of an alias table. {@code struct service_slot}
 * in {@code maps/service_map.h}.
 *
 * <pre>
 *  0               1               2               3
 *  0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                            address                            |
 * |                           (16 bytes)                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                         other_address                         |
 * |                           (16 bytes)                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |            port_be            |         other_port_be         |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                           threshold                           |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * </pre>
 */
public final class ServiceSlotFlyweight {
  public static final int ADDRESS_OFFSET = 0;
  public static final int OTHER_ADDRESS_OFFSET = ADDRESS_OFFSET + 16;
  public static final int PORT_BE_OFFSET = OTHER_ADDRESS_OFFSET + 16;
  public static final int OTHER_PORT_BE_OFFSET = PORT_BE_OFFSET + SIZE_OF_SHORT;
  public static final int THRESHOLD_OFFSET = OTHER_PORT_BE_OFFSET + SIZE_OF_SHORT;
  public static final int LENGTH = THRESHOLD_OFFSET + SIZE_OF_INT;

  public static final StructSpec STRUCT =
      StructSpec.named("service_slot", LENGTH)
          .bytes("address", ADDRESS_OFFSET, 16)
          .bytes("other_address", OTHER_ADDRESS_OFFSET, 16)
          .scalar("port_be", PORT_BE_OFFSET, BE16)
          .scalar("other_port_be", OTHER_PORT_BE_OFFSET, BE16)
          .scalar("threshold", THRESHOLD_OFFSET, U32)
          .build();

  private MutableDirectBuffer buffer;
  private int offset;

  /** Wraps {@value #LENGTH} bytes of the buffer from {@code offset}. */
  public ServiceSlotFlyweight wrap(MutableDirectBuffer buffer, int offset) {
    this.buffer = buffer;
    this.offset = offset;
    return this;
  }

  /** Sets every byte to zero, including the reserved ones. */
  public ServiceSlotFlyweight clear() {
    buffer.setMemory(offset, LENGTH, (byte) 0);
    return this;
  }

  /** Returns the upper 64 bits of {@code address}, an IPv4 address as an IPv4-mapped one. */
  public long addressHigh() {
    return buffer.getLong(offset + ADDRESS_OFFSET, BIG_ENDIAN);
  }

  /** Returns the lower 64 bits of {@code address}, an IPv4 address as an IPv4-mapped one. */
  public long addressLow() {
    return buffer.getLong(offset + ADDRESS_OFFSET + SIZE_OF_LONG, BIG_ENDIAN);
  }

  /** Sets {@code address}, an IPv4 address as an IPv4-mapped one. */
  public ServiceSlotFlyweight address(long high, long low) {
    buffer.putLong(offset + ADDRESS_OFFSET, high, BIG_ENDIAN);
    buffer.putLong(offset + ADDRESS_OFFSET + SIZE_OF_LONG, low, BIG_ENDIAN);
    return this;
  }

  /** Returns the upper 64 bits of {@code other_address}, an IPv4 address as an IPv4-mapped one. */
  public long otherAddressHigh() {
    return buffer.getLong(offset + OTHER_ADDRESS_OFFSET, BIG_ENDIAN);
  }

  /** Returns the lower 64 bits of {@code other_address}, an IPv4 address as an IPv4-mapped one. */
  public long otherAddressLow() {
    return buffer.getLong(offset + OTHER_ADDRESS_OFFSET + SIZE_OF_LONG, BIG_ENDIAN);
  }

  /** Sets {@code other_address}, an IPv4 address as an IPv4-mapped one. */
  public ServiceSlotFlyweight otherAddress(long high, long low) {
    buffer.putLong(offset + OTHER_ADDRESS_OFFSET, high, BIG_ENDIAN);
    buffer.putLong(offset + OTHER_ADDRESS_OFFSET + SIZE_OF_LONG, low, BIG_ENDIAN);
    return this;
  }

  /** Returns {@code port_be} in host byte order. */
  public int port() {
    return buffer.getShort(offset + PORT_BE_OFFSET, BIG_ENDIAN) & 0xffff;
  }

  /** Sets {@code port_be} in host byte order. */
  public ServiceSlotFlyweight port(int value) {
    buffer.putShort(offset + PORT_BE_OFFSET, (short) value, BIG_ENDIAN);
    return this;
  }

  /** Returns {@code other_port_be} in host byte order. */
  public int otherPort() {
    return buffer.getShort(offset + OTHER_PORT_BE_OFFSET, BIG_ENDIAN) & 0xffff;
  }

  /** Sets {@code other_port_be} in host byte order. */
  public ServiceSlotFlyweight otherPort(int value) {
    buffer.putShort(offset + OTHER_PORT_BE_OFFSET, (short) value, BIG_ENDIAN);
    return this;
  }

  /** Returns {@code threshold}, unsigned. */
  public int threshold() {
    return buffer.getInt(offset + THRESHOLD_OFFSET);
  }

  /** Sets {@code threshold}, unsigned. */
  public ServiceSlotFlyweight threshold(int value) {
    buffer.putInt(offset + THRESHOLD_OFFSET, value);
    return this;
  }
}
