package agent.bindings;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;

/** Mounts of kernel file systems: statfs(2) and mount(2). */
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
   * Mounts a file system, which has the name of its type.
   *
   * @param path an existing directory
   * @param options of the file system; null for none
   * @param operation for the message of a failure
   * @throws BindingsException if the kernel refuses
   */
  static void mount(String type, Path path, String options, String operation) {
    try (Arena arena = Arena.ofConfined()) {
      BindingsException.check(
          LibC.mount(
              arena.allocate(LibC.CALL_STATE),
              arena.allocateFrom(type),
              arena.allocateFrom(path.toString()),
              arena.allocateFrom(type),
              0,
              options == null ? MemorySegment.NULL : arena.allocateFrom(options)),
          operation + " at " + path);
    }
  }
}
