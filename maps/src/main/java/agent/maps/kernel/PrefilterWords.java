package agent.maps.kernel;

import agent.bindings.MappedMemory;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * The words of a bitmap or of a table of the prefilter, accessed through mapped memory without
 * system calls. The conductor's thread writes words with release order; {@code
 * maps/prefilter_map.h} documents them.
 */
public final class PrefilterWords implements AutoCloseable {
  private final MappedMemory memory;
  private final UnsafeBuffer buffer;

  /**
   * Maps the words into memory.
   *
   * @throws agent.bindings.BindingsException if the kernel refuses the mapping
   */
  public PrefilterWords(BpfMap map) {
    final int length = map.maxEntries() * map.valueSize();
    memory = MappedMemory.map(map.fd(), 0, length, true);
    buffer = new UnsafeBuffer(memory.address(), length);
  }

  /** Returns the number of words. */
  public int count() {
    return buffer.capacity() / Long.BYTES;
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
