package agent.bindings;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;

/** Mounts the file system of control groups, version 2, and opens its directories. */
public final class CgroupFileSystem {
  /** CGROUP2_SUPER_MAGIC (linux/magic.h). */
  private static final long CGROUP2_MAGIC = 0x63677270L;

  private static final long STATFS_BYTES = 256;

  // asm-generic/fcntl.h
  private static final int O_RDONLY = 0;
  private static final int O_CLOEXEC = 0x80000;

  private CgroupFileSystem() {}

  /** Returns whether the path is on a mounted cgroup2 file system; false if it does not exist. */
  public static boolean isMounted(Path path) {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment buffer = arena.allocate(STATFS_BYTES, 8);
      final int result =
          LibC.statfs(arena.allocate(LibC.CALL_STATE), arena.allocateFrom(path.toString()), buffer);
      return result == 0 && (buffer.get(JAVA_LONG, 0) & 0xffffffffL) == CGROUP2_MAGIC;
    }
  }

  /**
   * Mounts the cgroup2 file system.
   *
   * @param path an existing directory
   * @throws BindingsException if the kernel refuses
   */
  public static void mount(Path path) {
    try (Arena arena = Arena.ofConfined()) {
      BindingsException.check(
          LibC.mount(
              arena.allocate(LibC.CALL_STATE),
              arena.allocateFrom("cgroup2"),
              arena.allocateFrom(path.toString()),
              arena.allocateFrom("cgroup2"),
              0,
              MemorySegment.NULL),
          "mount a cgroup2 file system at " + path);
    }
  }

  /**
   * Opens the directory of a control group, to which programs are attached; the caller closes it.
   *
   * @throws BindingsException if it cannot be opened
   */
  static int open(Path path) {
    try (Arena arena = Arena.ofConfined()) {
      return BindingsException.check(
          LibC.open(
              arena.allocate(LibC.CALL_STATE),
              arena.allocateFrom(path.toString()),
              O_RDONLY | O_CLOEXEC),
          "control group " + path + ": open");
    }
  }
}
