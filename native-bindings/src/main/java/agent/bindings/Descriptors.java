package agent.bindings;

import java.lang.foreign.Arena;

/** Closes file descriptors that have no handle: those of maps and of epoll. */
public final class Descriptors {
  private Descriptors() {}

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
