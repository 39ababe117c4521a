package agent.bindings;

import agent.bindings.libbpf.Libbpf;
import java.lang.foreign.Arena;
import java.nio.file.Path;

/**
 * Mounts the BPF file system and pins maps in it; pinned maps, programs and links outlive the
 * process.
 */
public final class BpfFileSystem {
  private static final long BPF_FS_MAGIC = 0xcafe4a11L;

  private BpfFileSystem() {}

  /** Returns whether the path is on a mounted BPF file system; false if it does not exist. */
  public static boolean isMounted(Path path) {
    return MountedFileSystem.isAt(path, BPF_FS_MAGIC);
  }

  /**
   * Mounts a BPF file system that only root can access.
   *
   * @param path an existing directory
   * @throws BindingsException if the kernel refuses
   */
  public static void mount(Path path) {
    MountedFileSystem.mount("bpf", "bpf", path, "mode=0700", "mount a BPF file system");
  }

  /**
   * Pins a map; programs and links are pinned by their handles.
   *
   * @return 0 or -errno
   */
  public static int pin(int fd, Path path) {
    try (Arena arena = Arena.ofConfined()) {
      return Libbpf.bpf_obj_pin(fd, arena.allocateFrom(path.toString()));
    }
  }

  /**
   * Opens a pinned map; programs and links are opened by their handles.
   *
   * @return a descriptor, or -errno
   */
  public static int open(Path path) {
    try (Arena arena = Arena.ofConfined()) {
      return Libbpf.bpf_obj_get(arena.allocateFrom(path.toString()));
    }
  }

  /**
   * Removes a pin; the object remains while it is attached or open.
   *
   * @return 0 or -errno
   */
  public static int unpin(Path path) {
    try (Arena arena = Arena.ofConfined()) {
      return LibC.unlink(arena.allocate(LibC.CALL_STATE), arena.allocateFrom(path.toString()));
    }
  }
}
