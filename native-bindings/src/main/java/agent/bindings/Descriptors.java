package agent.bindings;

import java.lang.foreign.Arena;

/** File descriptors as numbers. */
public final class Descriptors {
  private Descriptors() {}

  /**
   * Closes a descriptor; a number below 0 is nothing to close.
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
