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
 * Key of a fragmented IPv4 datagram. {@code struct fragment4_key} in {@code maps/fragment_map.h}.
 *
 * <pre>
 *  0               1               2               3
 *  0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                         source_address                        |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                      destination_address                      |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |             id_be             |    protocol   |    reserved   |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * </pre>
 */
public final class Fragment4KeyFlyweight {
  public static final int SOURCE_ADDRESS_OFFSET = 0;
  public static final int DESTINATION_ADDRESS_OFFSET = SOURCE_ADDRESS_OFFSET + SIZE_OF_INT;
  public static final int ID_BE_OFFSET = DESTINATION_ADDRESS_OFFSET + SIZE_OF_INT;
  public static final int PROTOCOL_OFFSET = ID_BE_OFFSET + SIZE_OF_SHORT;
  public static final int RESERVED_OFFSET = PROTOCOL_OFFSET + SIZE_OF_BYTE;
  public static final int LENGTH = RESERVED_OFFSET + SIZE_OF_BYTE;

  public static final StructSpec STRUCT =
      StructSpec.named("fragment4_key", LENGTH)
          .scalar("source_address", SOURCE_ADDRESS_OFFSET, BE32)
          .scalar("destination_address", DESTINATION_ADDRESS_OFFSET, BE32)
          .scalar("id_be", ID_BE_OFFSET, BE16)
          .scalar("protocol", PROTOCOL_OFFSET, U8)
          .scalar("reserved", RESERVED_OFFSET, U8)
          .build();

  private MutableDirectBuffer buffer;
  private int offset;

  /** Wraps {@value #LENGTH} bytes of the buffer from {@code offset}. */
  public Fragment4KeyFlyweight wrap(MutableDirectBuffer buffer, int offset) {
    this.buffer = buffer;
    this.offset = offset;
    return this;
  }

  /** Sets every byte to zero, including the reserved ones. */
  public Fragment4KeyFlyweight clear() {
    buffer.setMemory(offset, LENGTH, (byte) 0);
    return this;
  }

  /** Returns {@code source_address} as a number, first octet most significant. */
  public int sourceAddress() {
    return buffer.getInt(offset + SOURCE_ADDRESS_OFFSET, BIG_ENDIAN);
  }

  /** Sets {@code source_address} as a number, first octet most significant. */
  public Fragment4KeyFlyweight sourceAddress(int value) {
    buffer.putInt(offset + SOURCE_ADDRESS_OFFSET, value, BIG_ENDIAN);
    return this;
  }

  /** Returns {@code destination_address} as a number, first octet most significant. */
  public int destinationAddress() {
    return buffer.getInt(offset + DESTINATION_ADDRESS_OFFSET, BIG_ENDIAN);
  }

  /** Sets {@code destination_address} as a number, first octet most significant. */
  public Fragment4KeyFlyweight destinationAddress(int value) {
    buffer.putInt(offset + DESTINATION_ADDRESS_OFFSET, value, BIG_ENDIAN);
    return this;
  }

  /** Returns {@code id_be} in host byte order, the identification field. */
  public int id() {
    return buffer.getShort(offset + ID_BE_OFFSET, BIG_ENDIAN) & 0xffff;
  }

  /** Sets {@code id_be} in host byte order, the identification field. */
  public Fragment4KeyFlyweight id(int value) {
    buffer.putShort(offset + ID_BE_OFFSET, (short) value, BIG_ENDIAN);
    return this;
  }

  /** Returns {@code protocol}, the layer 4 protocol number. */
  public int protocol() {
    return buffer.getByte(offset + PROTOCOL_OFFSET) & 0xff;
  }

  /** Sets {@code protocol}, the layer 4 protocol number. */
  public Fragment4KeyFlyweight protocol(int value) {
    buffer.putByte(offset + PROTOCOL_OFFSET, (byte) value);
    return this;
  }
}
