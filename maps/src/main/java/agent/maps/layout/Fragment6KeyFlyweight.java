package agent.maps.layout;

import static agent.maps.layout.StructSpec.Scalar.BE32;
import static agent.maps.layout.StructSpec.Scalar.U8;
import static java.nio.ByteOrder.BIG_ENDIAN;
import static org.agrona.BitUtil.SIZE_OF_BYTE;
import static org.agrona.BitUtil.SIZE_OF_INT;
import static org.agrona.BitUtil.SIZE_OF_LONG;

import org.agrona.MutableDirectBuffer;

/**
 * Key of a fragmented IPv6 datagram. {@code struct fragment6_key} in {@code maps/fragment_map.h}.
 *
 * <pre>
 *  0               1               2               3
 *  0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                         source_address                        |
 * |                           (16 bytes)                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                      destination_address                      |
 * |                           (16 bytes)                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                             id_be                             |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |    protocol   |                    reserved                   |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * </pre>
 */
public final class Fragment6KeyFlyweight {
  public static final int SOURCE_ADDRESS_OFFSET = 0;
  public static final int DESTINATION_ADDRESS_OFFSET = SOURCE_ADDRESS_OFFSET + 16;
  public static final int ID_BE_OFFSET = DESTINATION_ADDRESS_OFFSET + 16;
  public static final int PROTOCOL_OFFSET = ID_BE_OFFSET + SIZE_OF_INT;
  public static final int RESERVED_OFFSET = PROTOCOL_OFFSET + SIZE_OF_BYTE;
  public static final int LENGTH = RESERVED_OFFSET + 3;

  public static final StructSpec STRUCT =
      StructSpec.named("fragment6_key", LENGTH)
          .bytes("source_address", SOURCE_ADDRESS_OFFSET, 16)
          .bytes("destination_address", DESTINATION_ADDRESS_OFFSET, 16)
          .scalar("id_be", ID_BE_OFFSET, BE32)
          .scalar("protocol", PROTOCOL_OFFSET, U8)
          .bytes("reserved", RESERVED_OFFSET, 3)
          .build();

  private MutableDirectBuffer buffer;
  private int offset;

  /** Wraps {@value #LENGTH} bytes of the buffer from {@code offset}. */
  public Fragment6KeyFlyweight wrap(MutableDirectBuffer buffer, int offset) {
    this.buffer = buffer;
    this.offset = offset;
    return this;
  }

  /** Sets every byte to zero, including the reserved ones. */
  public Fragment6KeyFlyweight clear() {
    buffer.setMemory(offset, LENGTH, (byte) 0);
    return this;
  }

  /** Returns the upper 64 bits of {@code source_address}. */
  public long sourceAddressHigh() {
    return buffer.getLong(offset + SOURCE_ADDRESS_OFFSET, BIG_ENDIAN);
  }

  /** Returns the lower 64 bits of {@code source_address}. */
  public long sourceAddressLow() {
    return buffer.getLong(offset + SOURCE_ADDRESS_OFFSET + SIZE_OF_LONG, BIG_ENDIAN);
  }

  /** Sets {@code source_address}. */
  public Fragment6KeyFlyweight sourceAddress(long high, long low) {
    buffer.putLong(offset + SOURCE_ADDRESS_OFFSET, high, BIG_ENDIAN);
    buffer.putLong(offset + SOURCE_ADDRESS_OFFSET + SIZE_OF_LONG, low, BIG_ENDIAN);
    return this;
  }

  /** Returns the upper 64 bits of {@code destination_address}. */
  public long destinationAddressHigh() {
    return buffer.getLong(offset + DESTINATION_ADDRESS_OFFSET, BIG_ENDIAN);
  }

  /** Returns the lower 64 bits of {@code destination_address}. */
  public long destinationAddressLow() {
    return buffer.getLong(offset + DESTINATION_ADDRESS_OFFSET + SIZE_OF_LONG, BIG_ENDIAN);
  }

  /** Sets {@code destination_address}. */
  public Fragment6KeyFlyweight destinationAddress(long high, long low) {
    buffer.putLong(offset + DESTINATION_ADDRESS_OFFSET, high, BIG_ENDIAN);
    buffer.putLong(offset + DESTINATION_ADDRESS_OFFSET + SIZE_OF_LONG, low, BIG_ENDIAN);
    return this;
  }

  /** Returns {@code id_be} in host byte order, the identification field. */
  public int id() {
    return buffer.getInt(offset + ID_BE_OFFSET, BIG_ENDIAN);
  }

  /** Sets {@code id_be} in host byte order, the identification field. */
  public Fragment6KeyFlyweight id(int value) {
    buffer.putInt(offset + ID_BE_OFFSET, value, BIG_ENDIAN);
    return this;
  }

  /** Returns {@code protocol}, the layer 4 protocol number. */
  public int protocol() {
    return buffer.getByte(offset + PROTOCOL_OFFSET) & 0xff;
  }

  /** Sets {@code protocol}, the layer 4 protocol number. */
  public Fragment6KeyFlyweight protocol(int value) {
    buffer.putByte(offset + PROTOCOL_OFFSET, (byte) value);
    return this;
  }
}
