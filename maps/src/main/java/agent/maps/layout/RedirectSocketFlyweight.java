package agent.maps.layout;

import static agent.maps.layout.StructSpec.Scalar.BE16;
import static java.nio.ByteOrder.BIG_ENDIAN;
import static org.agrona.BitUtil.SIZE_OF_LONG;
import static org.agrona.BitUtil.SIZE_OF_SHORT;

import org.agrona.MutableDirectBuffer;

/**
 * Value of the map {@code redirect_sockets}: the flow that a socket of a proxy continues. {@code
 * struct redirect_socket} in {@code maps/redirect_map.h}. An IPv4 address is in the first four
 * bytes.
 *
 * <pre>
 *  0               1               2               3
 *  0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                             client                            |
 * |                           (16 bytes)                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                             server                            |
 * |                           (16 bytes)                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |         client_port_be        |         server_port_be        |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * </pre>
 */
public final class RedirectSocketFlyweight {
  public static final int CLIENT_OFFSET = 0;
  public static final int SERVER_OFFSET = CLIENT_OFFSET + 16;
  public static final int CLIENT_PORT_BE_OFFSET = SERVER_OFFSET + 16;
  public static final int SERVER_PORT_BE_OFFSET = CLIENT_PORT_BE_OFFSET + SIZE_OF_SHORT;
  public static final int LENGTH = SERVER_PORT_BE_OFFSET + SIZE_OF_SHORT;

  public static final StructSpec STRUCT =
      StructSpec.named("redirect_socket", LENGTH)
          .bytes("client", CLIENT_OFFSET, 16)
          .bytes("server", SERVER_OFFSET, 16)
          .scalar("client_port_be", CLIENT_PORT_BE_OFFSET, BE16)
          .scalar("server_port_be", SERVER_PORT_BE_OFFSET, BE16)
          .build();

  private MutableDirectBuffer buffer;
  private int offset;

  /** Wraps {@value #LENGTH} bytes of the buffer from {@code offset}. */
  public RedirectSocketFlyweight wrap(MutableDirectBuffer buffer, int offset) {
    this.buffer = buffer;
    this.offset = offset;
    return this;
  }

  /** Returns the upper 64 bits of {@code client}; those of an IPv4 address are its first bits. */
  public long clientHigh() {
    return buffer.getLong(offset + CLIENT_OFFSET, BIG_ENDIAN);
  }

  /** Returns the lower 64 bits of {@code client}. */
  public long clientLow() {
    return buffer.getLong(offset + CLIENT_OFFSET + SIZE_OF_LONG, BIG_ENDIAN);
  }

  /** Sets {@code client}. */
  public RedirectSocketFlyweight client(long high, long low) {
    buffer.putLong(offset + CLIENT_OFFSET, high, BIG_ENDIAN);
    buffer.putLong(offset + CLIENT_OFFSET + SIZE_OF_LONG, low, BIG_ENDIAN);
    return this;
  }

  /** Returns the upper 64 bits of {@code server}; those of an IPv4 address are its first bits. */
  public long serverHigh() {
    return buffer.getLong(offset + SERVER_OFFSET, BIG_ENDIAN);
  }

  /** Returns the lower 64 bits of {@code server}. */
  public long serverLow() {
    return buffer.getLong(offset + SERVER_OFFSET + SIZE_OF_LONG, BIG_ENDIAN);
  }

  /** Sets {@code server}. */
  public RedirectSocketFlyweight server(long high, long low) {
    buffer.putLong(offset + SERVER_OFFSET, high, BIG_ENDIAN);
    buffer.putLong(offset + SERVER_OFFSET + SIZE_OF_LONG, low, BIG_ENDIAN);
    return this;
  }

  /** Returns {@code client_port_be} in host byte order. */
  public int clientPort() {
    return buffer.getShort(offset + CLIENT_PORT_BE_OFFSET, BIG_ENDIAN) & 0xffff;
  }

  /** Sets {@code client_port_be} in host byte order. */
  public RedirectSocketFlyweight clientPort(int value) {
    buffer.putShort(offset + CLIENT_PORT_BE_OFFSET, (short) value, BIG_ENDIAN);
    return this;
  }

  /** Returns {@code server_port_be} in host byte order. */
  public int serverPort() {
    return buffer.getShort(offset + SERVER_PORT_BE_OFFSET, BIG_ENDIAN) & 0xffff;
  }

  /** Sets {@code server_port_be} in host byte order. */
  public RedirectSocketFlyweight serverPort(int value) {
    buffer.putShort(offset + SERVER_PORT_BE_OFFSET, (short) value, BIG_ENDIAN);
    return this;
  }
}
