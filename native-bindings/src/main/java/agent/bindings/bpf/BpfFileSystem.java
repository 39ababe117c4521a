package agent.bindings.bpf;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import agent.bindings.BindingsException;
import agent.bindings.LibC;
import agent.bindings.libbpf.Libbpf;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;

/**
 * Mounts the BPF file system and pins maps in it; pinned maps, programs and links outlive the
 * process.
 */
public final class BpfFileSystem {
  private static final long BPF_FS_MAGIC = 0xcafe4a11L;

  private static final long SYS_BPF =
      System.getProperty("os.arch").equals("aarch64") ? 280 : 321; // asm/unistd.h

  // linux/bpf.h: BPF_OBJ_GET with its path, descriptor and flags
  private static final long BPF_OBJ_GET = 7;
  private static final int BPF_F_RDONLY = 1 << 3;
  private static final int FLAGS_OFFSET = 12;
  private static final int SIZE_OF_OPEN = 16;

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
   * Opens a pinned map for lookups alone: the kernel refuses writes by this descriptor.
   *
   * @return a descriptor, or -errno
   */
  public static int openReadOnly(Path path) {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment attributes = arena.allocate(SIZE_OF_OPEN, Long.BYTES);
      attributes.set(JAVA_LONG, 0, arena.allocateFrom(path.toString()).address());
      attributes.set(JAVA_INT, FLAGS_OFFSET, BPF_F_RDONLY);
      return LibC.syscall(
          arena.allocate(LibC.CALL_STATE),
          SYS_BPF,
          BPF_OBJ_GET,
          attributes.address(),
          SIZE_OF_OPEN);
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
