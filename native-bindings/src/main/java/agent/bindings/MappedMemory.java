package agent.bindings;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * A shared mapping of a descriptor: an array map's values, or the pages of a ring buffer. Closing
 * it unmaps the memory; its owner sees to it that no thread still reads.
 */
public final class MappedMemory implements AutoCloseable {
  private static final int PROT_READ = 1;
  private static final int PROT_WRITE = 2;
  private static final int MAP_SHARED = 1;
  private static final int MAP_PRIVATE = 2;
  private static final int MAP_ANONYMOUS = 0x20;
  private static final int MAP_NORESERVE = 0x4000;

  private MemorySegment segment;

  private MappedMemory(MemorySegment segment) {
    this.segment = segment;
  }

  /**
   * Maps part of what a descriptor stands for.
   *
   * @param fd a map that allows it (BPF_F_MMAPABLE, or a ring buffer)
   * @param offset in bytes, whole pages
   * @param lengthBytes bytes to map; the kernel rounds up to whole pages
   * @param writable whether the mapping can be written
   * @throws BindingsException where the kernel refuses
   */
  public static MappedMemory map(int fd, long offset, long lengthBytes, boolean writable) {
    final int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
    return map(fd, offset, lengthBytes, protection, MAP_SHARED);
  }

  /** Zeroed pages that the kernel provides as they are touched. */
  static MappedMemory anonymous(long lengthBytes) {
    return map(
        -1, 0, lengthBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
  }

  private static MappedMemory map(
      int fd, long offset, long lengthBytes, int protection, int flags) {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment state = arena.allocate(LibC.CALL_STATE);
      final MemorySegment mapping = LibC.mmap(state, lengthBytes, protection, flags, fd, offset);
      if (mapping.equals(MemorySegment.NULL)) {
        throw new BindingsException(
            "mmap descriptor " + fd + ": " + lengthBytes + " bytes at " + offset,
            LibC.errno(state));
      }
      return new MappedMemory(mapping);
    }
  }

  /** The mapped bytes, in the lifetime of this object. */
  public MemorySegment segment() {
    return segment;
  }

  /** The address of the first byte, for a buffer that wraps addresses. */
  public long address() {
    return segment.address();
  }

  @Override
  public void close() {
    if (segment.equals(MemorySegment.NULL)) {
      return;
    }
    try (Arena arena = Arena.ofConfined()) {
      final int result = LibC.munmap(arena.allocate(LibC.CALL_STATE), segment);
      segment = MemorySegment.NULL;
      BindingsException.check(result, "munmap");
    }
  }
}
