package agent.bindings.process;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import agent.bindings.LibC;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** How the kernel's scheduler serves threads of this process (sched(7)). */
public final class ThreadScheduling {
  private static final long SYS_SCHED_SETATTR =
      System.getProperty("os.arch").equals("aarch64") ? 274 : 314; // asm/unistd.h

  /** struct sched_attr of linux/sched/types.h: SCHED_ATTR_SIZE_VER0. */
  private static final int SIZE_OF_ATTRIBUTES = 48;

  private static final int FLAGS_OFFSET = 8;
  private static final int NICE_OFFSET = 16;
  private static final int RUNTIME_OFFSET = 24;

  /** A thread or process that this one starts has the attributes of others. */
  private static final long SCHED_FLAG_RESET_ON_FORK = 1;

  /**
   * The shortest slice that a thread of SCHED_OTHER can have, since Linux 6.12; older kernels
   * ignore it.
   */
  private static final long SLICE_NS = 100_000;

  private ThreadScheduling() {}

  /**
   * Makes the calling thread run as soon as it is woken, though others of its control group use the
   * processors: it has a short slice, and weighs more than they do.
   *
   * @param nice how much it weighs: below 0, -20 is the most
   * @return 0; -errno where it weighs no more, since this process may not have that
   */
  public static int prioritizeCallingThread(int nice) {
    return prioritize(0, nice);
  }

  /**
   * Does for a thread of another process what {@link #prioritizeCallingThread} does.
   *
   * @param thread its number, as proc(5) has it
   */
  public static int prioritize(int thread, int nice) {
    final int result = set(thread, nice);
    if (result < 0) {
      set(thread, 0);
    }
    return result;
  }

  private static int set(int thread, int nice) {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment attributes = arena.allocate(SIZE_OF_ATTRIBUTES, Long.BYTES);
      attributes.set(JAVA_INT, 0, SIZE_OF_ATTRIBUTES);
      attributes.set(JAVA_LONG, FLAGS_OFFSET, SCHED_FLAG_RESET_ON_FORK);
      attributes.set(JAVA_INT, NICE_OFFSET, nice);
      attributes.set(JAVA_LONG, RUNTIME_OFFSET, SLICE_NS);
      final MemorySegment state = arena.allocate(LibC.CALL_STATE);
      return LibC.syscall(state, SYS_SCHED_SETATTR, thread, attributes.address(), 0);
    }
  }
}
