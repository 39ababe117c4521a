package agent.bindings.process;

import agent.bindings.BindingsException;
import agent.bindings.LibC;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Attributes of this process. */
public final class ProcessAttributes {
  private static final int RLIMIT_NOFILE = 7; // asm-generic/resource.h

  private static final int PR_SET_PDEATHSIG = 1; // linux/prctl.h
  private static final int PR_SET_NO_NEW_PRIVS = 38;
  private static final int SIGKILL = 9; // asm-generic/signal.h

  /** struct rlimit: the soft limit and the hard limit, 8 bytes each. */
  private static final int SIZE_OF_LIMITS = 2 * Long.BYTES;

  // linux/capability.h: a header of version and thread; effective, permitted and inheritable twice
  private static final boolean IS_ARM = System.getProperty("os.arch").equals("aarch64");
  private static final long SYS_CAPGET = IS_ARM ? 90 : 125; // asm/unistd.h
  private static final long SYS_CAPSET = IS_ARM ? 91 : 126;
  private static final int CAPABILITY_VERSION = 0x20080522;
  private static final int SIZE_OF_HEADER = 2 * Integer.BYTES;
  private static final int SIZE_OF_SETS = 6 * Integer.BYTES;
  private static final int[] INHERITABLE = {2, 5};

  private ProcessAttributes() {}

  /**
   * Prevents the processes that this thread starts from now on from gaining rights, whatever they
   * execute (prctl(2), PR_SET_NO_NEW_PRIVS), in any of their threads; they inherit no capability
   * from this thread but those of its user. Other threads of this process are as they were.
   *
   * @throws BindingsException where the kernel refuses
   */
  public static void passOnNoRights() {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment state = arena.allocate(LibC.CALL_STATE);
      BindingsException.check(
          ProcessCalls.prctl(state, PR_SET_NO_NEW_PRIVS, 1), "start processes without new rights");
      final MemorySegment header = arena.allocate(SIZE_OF_HEADER, Integer.BYTES);
      header.set(ValueLayout.JAVA_INT, 0, CAPABILITY_VERSION); // the thread 0 is the calling one
      final MemorySegment sets = arena.allocate(SIZE_OF_SETS, Integer.BYTES);
      BindingsException.check(
          LibC.syscall(state, SYS_CAPGET, header.address(), sets.address(), 0), "capabilities");
      for (final int word : INHERITABLE) {
        sets.setAtIndex(ValueLayout.JAVA_INT, word, 0);
      }
      BindingsException.check(
          LibC.syscall(state, SYS_CAPSET, header.address(), sets.address(), 0),
          "inheritable capabilities");
    }
  }

  /** Sets the permissions that no file gets that this process creates from now on (umask(2)). */
  public static void fileModeMask(int mask) {
    try (Arena arena = Arena.ofConfined()) {
      LibC.umask(arena.allocate(LibC.CALL_STATE), mask);
    }
  }

  /**
   * Drops the rights of root, for good and in all threads: user and group become others, and with
   * the user 0 all capabilities go (capabilities(7)). The C library has every thread make the call.
   *
   * @param id the number of the user and of the group; not 0
   * @throws BindingsException where this process may not change its user
   */
  public static void becomeUser(int id) {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment state = arena.allocate(LibC.CALL_STATE);
      BindingsException.check(ProcessCalls.leaveGroups(state), "leave all groups");
      BindingsException.check(ProcessCalls.setresgid(state, id), "become group " + id);
      BindingsException.check(ProcessCalls.setresuid(state, id), "become user " + id);
    }
  }

  /**
   * Makes the kernel end this process as soon as the thread ends that started it (prctl(2),
   * PR_SET_PDEATHSIG). A change of the user undoes it.
   *
   * @throws BindingsException where the kernel refuses
   */
  public static void endWithParent() {
    try (Arena arena = Arena.ofConfined()) {
      BindingsException.check(
          ProcessCalls.prctl(arena.allocate(LibC.CALL_STATE), PR_SET_PDEATHSIG, SIGKILL),
          "end with the parent");
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
