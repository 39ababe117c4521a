package agent.maps.layout;

import static agent.maps.layout.StructSpec.Scalar.BE16;
import static java.nio.ByteOrder.BIG_ENDIAN;
import static org.agrona.BitUtil.SIZE_OF_SHORT;

import org.agrona.MutableDirectBuffer;

/**
 * Value of the fragment maps: the ports of a fragmented datagram. {@code struct fragment_entry} in
 * {@code maps/fragment_map.h}.
 *
 * <pre>
 *  0               1               2               3
 *  0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |         source_port_be        |      destination_port_be      |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * </pre>
 */
public final class FragmentEntryFlyweight {
  public static final int SOURCE_PORT_BE_OFFSET = 0;
  public static final int DESTINATION_PORT_BE_OFFSET = SOURCE_PORT_BE_OFFSET + SIZE_OF_SHORT;
  public static final int LENGTH = DESTINATION_PORT_BE_OFFSET + SIZE_OF_SHORT;

  public static final StructSpec STRUCT =
      StructSpec.named("fragment_entry", LENGTH)
          .scalar("source_port_be", SOURCE_PORT_BE_OFFSET, BE16)
          .scalar("destination_port_be", DESTINATION_PORT_BE_OFFSET, BE16)
          .build();

  private MutableDirectBuffer buffer;
  private int offset;

  /** Wraps {@value #LENGTH} bytes of the buffer from {@code offset}. */
  public FragmentEntryFlyweight wrap(MutableDirectBuffer buffer, int offset) {
    this.buffer = buffer;
    this.offset = offset;
    return this;
  }

  /** Sets every byte to zero, including the reserved ones. */
  public FragmentEntryFlyweight clear() {
    buffer.setMemory(offset, LENGTH, (byte) 0);
    return this;
  }

  /** Returns {@code source_port_be} in host byte order. */
  public int sourcePort() {
    return buffer.getShort(offset + SOURCE_PORT_BE_OFFSET, BIG_ENDIAN) & 0xffff;
  }

  /** Sets {@code source_port_be} in host byte order. */
  public FragmentEntryFlyweight sourcePort(int value) {
    buffer.putShort(offset + SOURCE_PORT_BE_OFFSET, (short) value, BIG_ENDIAN);
    return this;
  }

  /** Returns {@code destination_port_be} in host byte order. */
  public int destinationPort() {
    return buffer.getShort(offset + DESTINATION_PORT_BE_OFFSET, BIG_ENDIAN) & 0xffff;
  }

  /** Sets {@code destination_port_be} in host byte order. */
  public FragmentEntryFlyweight destinationPort(int value) {
    buffer.putShort(offset + DESTINATION_PORT_BE_OFFSET, (short) value, BIG_ENDIAN);
    return this;
  }
}
