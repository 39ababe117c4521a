package agent.bindings;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import agent.bindings.libbpf.Libbpf;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;

/**
 * The file system in which maps, programs and links are pinned so that they outlive the process.
 */
public final class BpfFileSystem {
  private static final long BPF_FS_MAGIC = 0xcafe4a11L;
  private static final long STATFS_BYTES = 256;
  private static final int MNT_DETACH = 2;

  private BpfFileSystem() {}

  /** Whether the path lies on a mounted BPF file system; false where it does not exist. */
  public static boolean isMounted(Path path) {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment buffer = arena.allocate(STATFS_BYTES, 8);
      final int result =
          LibC.statfs(arena.allocate(LibC.CALL_STATE), arena.allocateFrom(path.toString()), buffer);
      return result == 0 && (buffer.get(JAVA_LONG, 0) & 0xffffffffL) == BPF_FS_MAGIC;
    }
  }

  /**
   * Mounts a BPF file system, readable for root alone.
   *
   * @param path an existing directory
   * @throws BindingsException where the kernel refuses
   */
  public static void mount(Path path) {
    try (Arena arena = Arena.ofConfined()) {
      BindingsException.check(
          LibC.mount(
              arena.allocate(LibC.CALL_STATE),
              arena.allocateFrom("bpf"),
              arena.allocateFrom(path.toString()),
              arena.allocateFrom("bpf"),
              0,
              arena.allocateFrom("mode=0700")),
          "mount a BPF file system at " + path);
    }
  }

  /**
   * Takes a mount away; what is pinned in it goes when nothing else holds it.
   *
   * @throws BindingsException where nothing is mounted there
   */
  public static void unmount(Path path) {
    try (Arena arena = Arena.ofConfined()) {
      BindingsException.check(
          LibC.unmount(
              arena.allocate(LibC.CALL_STATE), arena.allocateFrom(path.toString()), MNT_DETACH),
          "unmount " + path);
    }
  }

  /**
   * Pins a map, program or link.
   *
   * @return 0 or -errno
   */
  public static int pin(int fd, Path path) {
    try (Arena arena = Arena.ofConfined()) {
      return Libbpf.bpf_obj_pin(fd, arena.allocateFrom(path.toString()));
    }
  }

  /**
   * Opens what is pinned at a path.
   *
   * @return a descriptor, or -errno
   */
  public static int open(Path path) {
    try (Arena arena = Arena.ofConfined()) {
      return Libbpf.bpf_obj_get(arena.allocateFrom(path.toString()));
    }
  }

  /**
   * Removes a pin; the object lives on while it is attached or open.
   *
   * @return 0 or -errno
   */
  public static int unpin(Path path) {
    try (Arena arena = Arena.ofConfined()) {
      return LibC.unlink(arena.allocate(LibC.CALL_STATE), arena.allocateFrom(path.toString()));
    }
  }
}
