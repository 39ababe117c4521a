package agent.maps.layout;

import static agent.maps.layout.StructSpec.Scalar.U64;
import static org.agrona.BitUtil.SIZE_OF_LONG;

import org.agrona.MutableDirectBuffer;

/**
 * Load-time constants of the programs at sockets, in {@code .rodata}. {@code struct socket_config}
 * in {@code config/socket_config.h}.
 *
 * <pre>
 *  0               1               2               3
 *  0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                        namespace_cookie                       |
 * |                                                               |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * </pre>
 */
public final class SocketConfigFlyweight {
  public static final int NAMESPACE_COOKIE_OFFSET = 0;
  public static final int LENGTH = NAMESPACE_COOKIE_OFFSET + SIZE_OF_LONG;

  public static final StructSpec STRUCT =
      StructSpec.named("socket_config", LENGTH)
          .scalar("namespace_cookie", NAMESPACE_COOKIE_OFFSET, U64)
          .build();

  private MutableDirectBuffer buffer;
  private int offset;

  /** Wraps {@value #LENGTH} bytes of the buffer from {@code offset}. */
  public SocketConfigFlyweight wrap(MutableDirectBuffer buffer, int offset) {
    this.buffer = buffer;
    this.offset = offset;
    return this;
  }

  /** Sets every byte to zero. */
  public SocketConfigFlyweight clear() {
    buffer.setMemory(offset, LENGTH, (byte) 0);
    return this;
  }

  /** Returns {@code namespace_cookie}. */
  public long namespaceCookie() {
    return buffer.getLong(offset + NAMESPACE_COOKIE_OFFSET);
  }

  /** Sets {@code namespace_cookie}. */
  public SocketConfigFlyweight namespaceCookie(long value) {
    buffer.putLong(offset + NAMESPACE_COOKIE_OFFSET, value);
    return this;
  }
}
