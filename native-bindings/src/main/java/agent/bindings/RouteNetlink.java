package agent.bindings;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;

/** Requests to the kernel's routing tables (rtnetlink(7)), in the calling thread's namespace. */
public final class RouteNetlink implements AutoCloseable {
  private static final int AF_NETLINK = 16;
  private static final int SOCK_RAW_CLOEXEC = 3 | 0x80000;
  private static final int NETLINK_ROUTE = 0;
  private static final int NLMSG_ERROR = 2;
  private static final int TYPE_OFFSET = 4;
  private static final int ERROR_OFFSET = 16;
  private static final int LONGEST_ANSWER = 4096;

  private final Arena arena = Arena.ofConfined();
  private final MemorySegment state = arena.allocate(LibC.CALL_STATE);
  private final MemorySegment answer = arena.allocate(LONGEST_ANSWER, Integer.BYTES);
  private final int socket;

  private RouteNetlink() {
    socket = LibC.socket(state, AF_NETLINK, SOCK_RAW_CLOEXEC, NETLINK_ROUTE);
  }

  /**
   * Opens a socket, for one thread.
   *
   * @throws BindingsException where there is none
   */
  public static RouteNetlink open() {
    final RouteNetlink netlink = new RouteNetlink();
    if (netlink.socket < 0) {
      netlink.arena.close();
      throw new BindingsException("netlink socket", netlink.socket);
    }
    return netlink;
  }

  /**
   * Sends one message and waits for its acknowledgement.
   *
   * @param message a whole one, header included, with NLM_F_REQUEST and NLM_F_ACK
   * @return 0, or -errno as the kernel answered or as the socket failed
   */
  public int request(ByteBuffer message) {
    try (Arena scratch = Arena.ofConfined()) {
      final MemorySegment bytes = scratch.allocate(message.remaining(), Integer.BYTES);
      bytes.copyFrom(MemorySegment.ofBuffer(message));
      final int sent = LibC.write(state, socket, bytes);
      if (sent < 0) {
        return sent;
      }
    }
    final int length = LibC.read(state, socket, answer);
    if (length < 0) {
      return length;
    }
    return length >= ERROR_OFFSET + Integer.BYTES
            && answer.get(JAVA_SHORT, TYPE_OFFSET) == NLMSG_ERROR
        ? answer.get(JAVA_INT, ERROR_OFFSET)
        : -Errno.EPROTO;
  }

  @Override
  public void close() {
    LibC.close(state, socket);
    arena.close();
  }
}
