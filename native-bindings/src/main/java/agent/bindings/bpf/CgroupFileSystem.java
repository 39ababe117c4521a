package agent.bindings.bpf;

import agent.bindings.BindingsException;
import agent.bindings.LibC;
import java.lang.foreign.Arena;
import java.nio.file.Path;

/** Mounts the file system of control groups, version 2, and opens its directories. */
public final class CgroupFileSystem {
  /** The name of the mounts of the agent in the list of mounts. */
  public static final String SOURCE = "agent";

  /** CGROUP2_SUPER_MAGIC (linux/magic.h). */
  private static final long CGROUP2_MAGIC = 0x63677270L;

  // asm-generic/fcntl.h
  private static final int O_RDONLY = 0;
  private static final int O_CLOEXEC = 0x80000;

  private CgroupFileSystem() {}

  /** Returns whether the path is on a mounted cgroup2 file system; false if it does not exist. */
  public static boolean isMounted(Path path) {
    return MountedFileSystem.isAt(path, CGROUP2_MAGIC);
  }

  /**
   * Mounts the cgroup2 file system.
   *
   * @param path an existing directory
   * @throws BindingsException if the kernel refuses
   */
  public static void mount(Path path) {
    MountedFileSystem.mount("cgroup2", SOURCE, path, null, "mount a cgroup2 file system");
  }

  /**
   * Unmounts the file system at a path.
   *
   * @throws BindingsException if the kernel refuses
   */
  public static void unmount(Path path) {
    MountedFileSystem.unmount(path, "unmount a cgroup2 file system");
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
