package agent.maps.kernel;

import agent.bindings.MappedMemory;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * One of the prefilter's bitmaps, accessed through mapped memory without system calls. The
 * conductor's thread writes words with release order; {@code maps/prefilter_map.h} documents the
 * cells.
 */
public final class PrefilterCells implements AutoCloseable {
  private final MappedMemory memory;
  private final UnsafeBuffer buffer;

  /**
   * Maps the bitmap into memory.
   *
   * @throws agent.bindings.BindingsException if the kernel refuses the mapping
   */
  public PrefilterCells(BpfMap map) {
    final int length = map.maxEntries() * Long.BYTES;
    memory = MappedMemory.map(map.fd(), 0, length, true);
    buffer = new UnsafeBuffer(memory.address(), length);
  }

  public long word(int index) {
    return buffer.getLongVolatile(index * Long.BYTES);
  }

  /** Replaces one word atomically: a program reads either the old or the new word. */
  public void word(int index, long bits) {
    buffer.putLongRelease(index * Long.BYTES, bits);
  }

  /** Unmaps the memory; the kernel map remains. */
  @Override
  public void close() {
    buffer.wrap(0, 0);
    memory.close();
  }
}
