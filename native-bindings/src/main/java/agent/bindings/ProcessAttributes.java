package agent.bindings;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Attributes of this process. */
public final class ProcessAttributes {
  private static final int RLIMIT_NOFILE = 7; // asm-generic/resource.h

  /** struct rlimit: the soft limit and the hard limit, 8 bytes each. */
  private static final int SIZE_OF_LIMITS = 2 * Long.BYTES;

  private ProcessAttributes() {}

  /** Sets the permissions that no file gets that this process creates from now on (umask(2)). */
  public static void fileModeMask(int mask) {
    try (Arena arena = Arena.ofConfined()) {
      LibC.umask(arena.allocate(LibC.CALL_STATE), mask);
    }
  }

  /**
   * Returns how many descriptors this process may have open: the soft limit, which the JVM raises
   * to the hard limit at its start. Without a limit it is {@link Long#MAX_VALUE}.
   */
  public static long descriptorLimit() {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment limits = arena.allocate(SIZE_OF_LIMITS, Long.BYTES);
      BindingsException.check(
          LibC.getrlimit(arena.allocate(LibC.CALL_STATE), RLIMIT_NOFILE, limits),
          "limit of open files");
      final long soft = limits.get(ValueLayout.JAVA_LONG, 0);
      return soft < 0 ? Long.MAX_VALUE : soft;
    }
  }
}
