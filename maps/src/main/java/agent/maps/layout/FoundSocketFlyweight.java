package agent.maps.layout;

import static agent.maps.layout.StructSpec.Scalar.BE16;
import static agent.maps.layout.StructSpec.Scalar.U32;
import static agent.maps.layout.StructSpec.Scalar.U64;
import static java.nio.ByteOrder.BIG_ENDIAN;
import static org.agrona.BitUtil.SIZE_OF_INT;
import static org.agrona.BitUtil.SIZE_OF_LONG;
import static org.agrona.BitUtil.SIZE_OF_SHORT;

import org.agrona.MutableDirectBuffer;

/**
 * A socket whose backend has gone. {@code struct found_socket} in {@code config/found_socket.h}.
 *
 * <pre>
 *  0               1               2               3
 *  0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                        frontend_address                       |
 * |                           (16 bytes)                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                        backend_address                        |
 * |                           (16 bytes)                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                             cookie                            |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                              ...                              |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                            process                            |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                           descriptor                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                           net_inode                           |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |        frontend_port_be       |        backend_port_be        |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                            protocol                           |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                             flags                             |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * </pre>
 */
public final class FoundSocketFlyweight {
  public static final int FRONTEND_ADDRESS_OFFSET = 0;
  public static final int BACKEND_ADDRESS_OFFSET = FRONTEND_ADDRESS_OFFSET + 16;
  public static final int COOKIE_OFFSET = BACKEND_ADDRESS_OFFSET + 16;
  public static final int PROCESS_OFFSET = COOKIE_OFFSET + SIZE_OF_LONG;
  public static final int DESCRIPTOR_OFFSET = PROCESS_OFFSET + SIZE_OF_INT;
  public static final int NET_INODE_OFFSET = DESCRIPTOR_OFFSET + SIZE_OF_INT;
  public static final int FRONTEND_PORT_BE_OFFSET = NET_INODE_OFFSET + SIZE_OF_INT;
  public static final int BACKEND_PORT_BE_OFFSET = FRONTEND_PORT_BE_OFFSET + SIZE_OF_SHORT;
  public static final int PROTOCOL_OFFSET = BACKEND_PORT_BE_OFFSET + SIZE_OF_SHORT;
  public static final int FLAGS_OFFSET = PROTOCOL_OFFSET + SIZE_OF_INT;
  public static final int LENGTH = FLAGS_OFFSET + SIZE_OF_INT;

  public static final StructSpec STRUCT =
      StructSpec.named("found_socket", LENGTH)
          .bytes("frontend_address", FRONTEND_ADDRESS_OFFSET, 16)
          .bytes("backend_address", BACKEND_ADDRESS_OFFSET, 16)
          .scalar("cookie", COOKIE_OFFSET, U64)
          .scalar("process", PROCESS_OFFSET, U32)
          .scalar("descriptor", DESCRIPTOR_OFFSET, U32)
          .scalar("net_inode", NET_INODE_OFFSET, U32)
          .scalar("frontend_port_be", FRONTEND_PORT_BE_OFFSET, BE16)
          .scalar("backend_port_be", BACKEND_PORT_BE_OFFSET, BE16)
          .scalar("protocol", PROTOCOL_OFFSET, U32)
          .scalar("flags", FLAGS_OFFSET, U32)
          .build();

  private MutableDirectBuffer buffer;
  private int offset;

  /** Wraps {@value #LENGTH} bytes of the buffer from {@code offset}. */
  public FoundSocketFlyweight wrap(MutableDirectBuffer buffer, int offset) {
    this.buffer = buffer;
    this.offset = offset;
    return this;
  }

  /** Returns the upper 64 bits of {@code frontend_address}, the service's address. */
  public long frontendAddressHigh() {
    return buffer.getLong(offset + FRONTEND_ADDRESS_OFFSET, BIG_ENDIAN);
  }

  /** Returns the lower 64 bits of {@code frontend_address}, the service's address. */
  public long frontendAddressLow() {
    return buffer.getLong(offset + FRONTEND_ADDRESS_OFFSET + SIZE_OF_LONG, BIG_ENDIAN);
  }

  /** Returns the upper 64 bits of {@code backend_address}, to which the socket is connected. */
  public long backendAddressHigh() {
    return buffer.getLong(offset + BACKEND_ADDRESS_OFFSET, BIG_ENDIAN);
  }

  /** Returns the lower 64 bits of {@code backend_address}, to which the socket is connected. */
  public long backendAddressLow() {
    return buffer.getLong(offset + BACKEND_ADDRESS_OFFSET + SIZE_OF_LONG, BIG_ENDIAN);
  }

  /** Returns {@code cookie}, that of the socket (SO_COOKIE). */
  public long cookie() {
    return buffer.getLong(offset + COOKIE_OFFSET);
  }

  /** Returns {@code process}, the id of one that has the socket open. */
  public int process() {
    return buffer.getInt(offset + PROCESS_OFFSET);
  }

  /** Returns {@code descriptor}, of that process. */
  public int descriptor() {
    return buffer.getInt(offset + DESCRIPTOR_OFFSET);
  }

  /** Returns {@code net_inode}, the inode number of the socket's network namespace. */
  public int netInode() {
    return buffer.getInt(offset + NET_INODE_OFFSET);
  }

  /** Returns {@code frontend_port_be} in host byte order. */
  public int frontendPort() {
    return buffer.getShort(offset + FRONTEND_PORT_BE_OFFSET, BIG_ENDIAN) & 0xffff;
  }

  /** Returns {@code backend_port_be} in host byte order. */
  public int backendPort() {
    return buffer.getShort(offset + BACKEND_PORT_BE_OFFSET, BIG_ENDIAN) & 0xffff;
  }

  /** Returns {@code protocol}, its number. */
  public int protocol() {
    return buffer.getInt(offset + PROTOCOL_OFFSET);
  }

  /** Returns {@code flags}, bits of {@link FoundSocketFlag}. */
  public int flags() {
    return buffer.getInt(offset + FLAGS_OFFSET);
  }
}
