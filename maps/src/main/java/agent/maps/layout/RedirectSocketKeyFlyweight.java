package agent.maps.layout;

import static agent.maps.layout.StructSpec.Scalar.BE16;
import static agent.maps.layout.StructSpec.Scalar.U8;
import static java.nio.ByteOrder.BIG_ENDIAN;
import static org.agrona.BitUtil.SIZE_OF_BYTE;
import static org.agrona.BitUtil.SIZE_OF_SHORT;

import org.agrona.MutableDirectBuffer;

/**
 * Key of the map {@code redirect_sockets}: a socket of a proxy. {@code struct redirect_socket_key}
 * in {@code maps/redirect_map.h}.
 *
 * <pre>
 *  0               1               2               3
 *  0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |            port_be            |    protocol   |     family    |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * </pre>
 */
public final class RedirectSocketKeyFlyweight {
  public static final int PORT_BE_OFFSET = 0;
  public static final int PROTOCOL_OFFSET = PORT_BE_OFFSET + SIZE_OF_SHORT;
  public static final int FAMILY_OFFSET = PROTOCOL_OFFSET + SIZE_OF_BYTE;
  public static final int LENGTH = FAMILY_OFFSET + SIZE_OF_BYTE;

  public static final StructSpec STRUCT =
      StructSpec.named("redirect_socket_key", LENGTH)
          .scalar("port_be", PORT_BE_OFFSET, BE16)
          .scalar("protocol", PROTOCOL_OFFSET, U8)
          .scalar("family", FAMILY_OFFSET, U8)
          .build();

  private MutableDirectBuffer buffer;
  private int offset;

  /** Wraps {@value #LENGTH} bytes of the buffer from {@code offset}. */
  public RedirectSocketKeyFlyweight wrap(MutableDirectBuffer buffer, int offset) {
    this.buffer = buffer;
    this.offset = offset;
    return this;
  }

  /** Returns {@code port_be} in host byte order. */
  public int port() {
    return buffer.getShort(offset + PORT_BE_OFFSET, BIG_ENDIAN) & 0xffff;
  }

  /** Sets {@code port_be} in host byte order. */
  public RedirectSocketKeyFlyweight port(int value) {
    buffer.putShort(offset + PORT_BE_OFFSET, (short) value, BIG_ENDIAN);
    return this;
  }

  /** Returns {@code protocol}, the IP protocol number. */
  public int protocol() {
    return buffer.getByte(offset + PROTOCOL_OFFSET) & 0xff;
  }

  /** Sets {@code protocol}, the IP protocol number. */
  public RedirectSocketKeyFlyweight protocol(int value) {
    buffer.putByte(offset + PROTOCOL_OFFSET, (byte) value);
    return this;
  }

  /** Returns {@code family}: 4 or 6. */
  public int family() {
    return buffer.getByte(offset + FAMILY_OFFSET) & 0xff;
  }

  /** Sets {@code family}: 4 or 6. */
  public RedirectSocketKeyFlyweight family(int value) {
    buffer.putByte(offset + FAMILY_OFFSET, (byte) value);
    return this;
  }
}
