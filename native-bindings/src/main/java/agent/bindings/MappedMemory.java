package agent.bindings;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * A shared memory mapping of a descriptor: the values of an array map, or the pages of a ring
 * buffer. Closing it unmaps the memory; the owner must ensure that no thread still accesses it.
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
   * Maps a part of a descriptor's memory.
   *
   * @param fd descriptor of a map with BPF_F_MMAPABLE, or of a ring buffer
   * @param offset in bytes, a multiple of the page size
   * @param lengthBytes length; the kernel rounds it up to whole pages
   * @param writable whether the mapping is writable
   * @throws BindingsException if the kernel refuses
   */
  public static MappedMemory map(int fd, long offset, long lengthBytes, boolean writable) {
    final int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
    return map(fd, offset, lengthBytes, protection, MAP_SHARED);
  }

  /** Maps zeroed memory, which the kernel allocates at the first access to each page. */
  public static MappedMemory anonymous(long lengthBytes) {
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

  /** Returns the mapped bytes, valid until this object is closed. */
  public MemorySegment segment() {
    return segment;
  }

  /** Returns the address of the first byte, for buffers that wrap addresses. */
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
