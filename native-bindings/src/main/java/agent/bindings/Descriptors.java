package agent.bindings;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/** Operations on file descriptors that have no handle: those of maps, of epoll and of the JDK. */
public final class Descriptors {
  private static final MethodHandle POLL = CallShape.link("poll", CallShape.ADDRESS_FIRST);
  private static final int MSG_PEEK = 0x02;
  private static final int MSG_DONTWAIT = 0x40;
  private static final short POLLHUP = 0x10;
  private static final int POLLFD_BYTES = 8;
  private static final int REVENTS_OFFSET = 6;

  private Descriptors() {}

  /**
   * Returns whether a connected socket has received bytes that were not read yet; does not wait.
   */
  public static boolean hasUnread(int socket) {
    try (Arena arena = Arena.ofConfined()) {
      return LibC.recvfrom(
              arena.allocate(LibC.CALL_STATE),
              socket,
              arena.allocate(1),
              MSG_PEEK | MSG_DONTWAIT,
              MemorySegment.NULL,
              MemorySegment.NULL)
          > 0;
    }
  }

  /**
   * Returns whether the peer of a connected socket has closed it; one that only sends no more has
   * not (poll(2), POLLHUP). Does not wait.
   */
  public static boolean isClosedByPeer(int socket) {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment polled = arena.allocate(POLLFD_BYTES, Integer.BYTES);
      polled.set(ValueLayout.JAVA_INT, 0, socket);
      return poll(arena.allocate(LibC.CALL_STATE), polled) > 0
          && (polled.get(ValueLayout.JAVA_SHORT, REVENTS_OFFSET) & POLLHUP) != 0;
    }
  }

  /** Returns whether the one descriptor has events, 1 or 0, or -errno; does not wait. */
  private static int poll(MemorySegment state, MemorySegment polled) {
    try {
      return LibC.result(state, (int) (long) POLL.invokeExact(state, polled, 1L, 0L, 0L, 0L, 0L));
    } catch (Throwable t) {
      throw LibC.unexpected(t);
    }
  }

  /**
   * Closes a descriptor; ignores a negative number.
   *
   * @return 0 or -errno
   */
  public static int close(int fd) {
    if (fd < 0) {
      return 0;
    }
    try (Arena arena = Arena.ofConfined()) {
      return LibC.close(arena.allocate(LibC.CALL_STATE), fd);
    }
  }
}
