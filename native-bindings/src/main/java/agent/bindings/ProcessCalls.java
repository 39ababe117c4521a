package agent.bindings;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** System calls about the rights and limits of this process, made as {@link LibC} does. */
final class ProcessCalls {
  private static final MemorySegment NULL = MemorySegment.NULL;
  private static final MethodHandle SETGROUPS =
      CallShape.link("setgroups", CallShape.ADDRESS_SECOND);
  private static final MethodHandle SETRESGID = CallShape.link("setresgid", CallShape.NUMBERS);
  private static final MethodHandle SETRESUID = CallShape.link("setresuid", CallShape.NUMBERS);
  private static final MethodHandle SETRLIMIT =
      CallShape.link("setrlimit", CallShape.ADDRESS_SECOND);

  private ProcessCalls() {}

  /** Leaves all supplementary groups, in all threads of the process (nptl(7)). */
  static int leaveGroups(MemorySegment state) {
    try {
      return LibC.result(
          state, (int) (long) SETGROUPS.invokeExact(state, 0L, NULL, 0L, 0L, NULL, NULL));
    } catch (Throwable t) {
      throw LibC.unexpected(t);
    }
  }

  /** Sets the real, effective and saved group of all threads of the process (nptl(7)). */
  static int setresgid(MemorySegment state, long group) {
    try {
      return LibC.result(state, (int) (long) SETRESGID.invokeExact(state, group, group, group));
    } catch (Throwable t) {
      throw LibC.unexpected(t);
    }
  }

  /** Sets the real, effective and saved user of all threads of the process (nptl(7)). */
  static int setresuid(MemorySegment state, long user) {
    try {
      return LibC.result(state, (int) (long) SETRESUID.invokeExact(state, user, user, user));
    } catch (Throwable t) {
      throw LibC.unexpected(t);
    }
  }

  /** Sets the soft and the hard limit of a resource. */
  static int setrlimit(MemorySegment state, int resource, MemorySegment limits) {
    try {
      return LibC.result(
          state,
          (int) (long) SETRLIMIT.invokeExact(state, (long) resource, limits, 0L, 0L, NULL, NULL));
    } catch (Throwable t) {
      throw LibC.unexpected(t);
    }
  }
}
