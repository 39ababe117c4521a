package agent.bindings;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** Operations on file descriptors that have no handle: those of maps, of epoll and of the JDK. */
public final class Descriptors {
  private static final int MSG_PEEK = 0x02;
  private static final int MSG_DONTWAIT = 0x40;

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
