package agent.bindings.bpf;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import agent.bindings.BindingsException;
import agent.bindings.LibC;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;

/** Mounts of kernel file systems: statfs(2), mount(2) and umount2(2). */
final class MountedFileSystem {
  private static final long STATFS_BYTES = 256;

  private MountedFileSystem() {}

  /** Returns whether the path is on a file system with this magic; false if it does not exist. */
  static boolean isAt(Path path, long magic) {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment buffer = arena.allocate(STATFS_BYTES, 8);
      final int result =
          LibC.statfs(arena.allocate(LibC.CALL_STATE), arena.allocateFrom(path.toString()), buffer);
      return result == 0 && (buffer.get(JAVA_LONG, 0) & 0xffffffffL) == magic;
    }
  }

  /**
   * Mounts a file system.
   *
   * @param source its name in the list of mounts
   * @param path an existing directory
   * @param options of the file system; null for none
   * @param operation for the message of a failure
   * @throws BindingsException if the kernel refuses
   */
  static void mount(String type, String source, Path path, String options, String operation) {
    try (Arena arena = Arena.ofConfined()) {
      BindingsException.check(
          LibC.mount(
              arena.allocate(LibC.CALL_STATE),
              arena.allocateFrom(source),
              arena.allocateFrom(path.toString()),
              arena.allocateFrom(type),
              0,
              options == null ? MemorySegment.NULL : arena.allocateFrom(options)),
          operation + " at " + path);
    }
  }

  /**
   * Unmounts the file system that is mounted last at a path.
   *
   * @param operation for the message of a failure
   * @throws BindingsException if the kernel refuses
   */
  static void unmount(Path path, String operation) {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment state = arena.allocate(LibC.CALL_STATE);
      final MemorySegment target = arena.allocateFrom(path.toString());
      BindingsException.check(LibC.unmount(state, target, 0), operation + " at " + path);
    }
  }
}
