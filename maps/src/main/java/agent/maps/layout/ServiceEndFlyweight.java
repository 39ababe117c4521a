package agent.maps.layout;

import static agent.maps.layout.StructSpec.Scalar.BE16;
import static java.nio.ByteOrder.BIG_ENDIAN;
import static org.agrona.BitUtil.SIZE_OF_LONG;
import static org.agrona.BitUtil.SIZE_OF_SHORT;

import org.agrona.MutableDirectBuffer;

/**
 * Value of the map {@code service_ends}: a backend. {@code struct service_end} in {@code
 * maps/service_map.h}.
 *
 * <pre>
 *  0               1               2               3
 *  0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                            address                            |
 * |                           (16 bytes)                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |            port_be            |            reserved           |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * </pre>
 */
public final class ServiceEndFlyweight {
  public static final int ADDRESS_OFFSET = 0;
  public static final int PORT_BE_OFFSET = ADDRESS_OFFSET + 16;
  public static final int RESERVED_OFFSET = PORT_BE_OFFSET + SIZE_OF_SHORT;
  public static final int LENGTH = RESERVED_OFFSET + 2;

  public static final StructSpec STRUCT =
      StructSpec.named("service_end", LENGTH)
          .bytes("address", ADDRESS_OFFSET, 16)
          .scalar("port_be", PORT_BE_OFFSET, BE16)
          .bytes("reserved", RESERVED_OFFSET, 2)
          .build();

  private MutableDirectBuffer buffer;
  private int offset;

  /** Wraps {@value #LENGTH} bytes of the buffer from {@code offset}. */
  public ServiceEndFlyweight wrap(MutableDirectBuffer buffer, int offset) {
    this.buffer = buffer;
    this.offset = offset;
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
  public ServiceEndFlyweight address(long high, long low) {
    buffer.putLong(offset + ADDRESS_OFFSET, high, BIG_ENDIAN);
    buffer.putLong(offset + ADDRESS_OFFSET + SIZE_OF_LONG, low, BIG_ENDIAN);
    return this;
  }

  /** Returns {@code port_be} in host byte order. */
  public int port() {
    return buffer.getShort(offset + PORT_BE_OFFSET, BIG_ENDIAN) & 0xffff;
  }

  /** Sets {@code port_be} in host byte order. */
  public ServiceEndFlyweight port(int value) {
    buffer.putShort(offset + PORT_BE_OFFSET, (short) value, BIG_ENDIAN);
    return this;
  }
}
