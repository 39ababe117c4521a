package agent.bindings.process;

import agent.bindings.CallShape;
import agent.bindings.LibC;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** System calls about the rights and the end of this process, made as {@link LibC} does. */
final class ProcessCalls {
  private static final MemorySegment NULL = MemorySegment.NULL;
  private static final MethodHandle SETGROUPS =
      CallShape.link("setgroups", CallShape.ADDRESS_SECOND);
  private static final MethodHandle SETRESGID = CallShape.link("setresgid", CallShape.NUMBERS);
  private static final MethodHandle SETRESUID = CallShape.link("setresuid", CallShape.NUMBERS);
  private static final MethodHandle PRCTL = CallShape.link("prctl", CallShape.OPTION);

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

  /** Operates on this thread or process; the other three arguments are 0. */
  static int prctl(MemorySegment state, long operation, long argument) {
    try {
      return LibC.result(
          state, (int) (long) PRCTL.invokeExact(state, operation, argument, 0L, NULL, 0L));
    } catch (Throwable t) {
      throw LibC.unexpected(t);
    }
  }
}
