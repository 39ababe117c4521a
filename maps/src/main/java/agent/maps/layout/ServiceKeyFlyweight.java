package agent.maps.layout;

import static agent.maps.layout.StructSpec.Scalar.BE16;
import static agent.maps.layout.StructSpec.Scalar.U8;
import static java.nio.ByteOrder.BIG_ENDIAN;
import static org.agrona.BitUtil.SIZE_OF_BYTE;
import static org.agrona.BitUtil.SIZE_OF_LONG;
import static org.agrona.BitUtil.SIZE_OF_SHORT;

import org.agrona.MutableDirectBuffer;

/**
 * Key of the map {@code services}: a frontend. {@code struct service_key} in {@code
 * maps/service_map.h}.
 *
 * <pre>
 *  0               1               2               3
 *  0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                            address                            |
 * |                           (16 bytes)                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |            port_be            |    protocol   |     scope     |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * </pre>
 */
public final class ServiceKeyFlyweight {
  public static final int ADDRESS_OFFSET = 0;
  public static final int PORT_BE_OFFSET = ADDRESS_OFFSET + 16;
  public static final int PROTOCOL_OFFSET = PORT_BE_OFFSET + SIZE_OF_SHORT;
  public static final int SCOPE_OFFSET = PROTOCOL_OFFSET + SIZE_OF_BYTE;
  public static final int LENGTH = SCOPE_OFFSET + SIZE_OF_BYTE;

  public static final StructSpec STRUCT =
      StructSpec.named("service_key", LENGTH)
          .bytes("address", ADDRESS_OFFSET, 16)
          .scalar("port_be", PORT_BE_OFFSET, BE16)
          .scalar("protocol", PROTOCOL_OFFSET, U8)
          .scalar("scope", SCOPE_OFFSET, U8)
          .build();

  private MutableDirectBuffer buffer;
  private int offset;

  /** Wraps {@value #LENGTH} bytes of the buffer from {@code offset}. */
  public ServiceKeyFlyweight wrap(MutableDirectBuffer buffer, int offset) {
    this.buffer = buffer;
    this.offset = offset;
    return this;
  }

  /** Sets every byte to zero. */
  public ServiceKeyFlyweight clear() {
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
  public ServiceKeyFlyweight address(long high, long low) {
    buffer.putLong(offset + ADDRESS_OFFSET, high, BIG_ENDIAN);
    buffer.putLong(offset + ADDRESS_OFFSET + SIZE_OF_LONG, low, BIG_ENDIAN);
    return this;
  }

  /** Returns {@code port_be} in host byte order. */
  public int port() {
    return buffer.getShort(offset + PORT_BE_OFFSET, BIG_ENDIAN) & 0xffff;
  }

  /** Sets {@code port_be} in host byte order. */
  public ServiceKeyFlyweight port(int value) {
    buffer.putShort(offset + PORT_BE_OFFSET, (short) value, BIG_ENDIAN);
    return this;
  }

  /** Returns {@code protocol}, TCP or UDP. */
  public int protocol() {
    return buffer.getByte(offset + PROTOCOL_OFFSET) & 0xff;
  }

  /** Sets {@code protocol}, TCP or UDP. */
  public ServiceKeyFlyweight protocol(int value) {
    buffer.putByte(offset + PROTOCOL_OFFSET, (byte) value);
    return this;
  }

  /** Returns {@code scope}, a {@link ServiceScope}. */
  public int scope() {
    return buffer.getByte(offset + SCOPE_OFFSET) & 0xff;
  }

  /** Sets {@code scope}, a {@link ServiceScope}. */
  public ServiceKeyFlyweight scope(int value) {
    buffer.putByte(offset + SCOPE_OFFSET, (byte) value);
    return this;
  }
}
