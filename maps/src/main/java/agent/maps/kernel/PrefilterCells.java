package agent.maps.kernel;

import agent.bindings.MappedMemory;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * One of the prefilter's bitmaps, through a mapping: no system call. The conductor writes, word by
 * word with release order; what the cells mean is in {@code maps/prefilter_map.h}.
 */
public final class PrefilterCells implements AutoCloseable {
  /** Multiplier of the hash of narrow cells. */
  public static final long HASH48 = 0x9E3779B97F4A7C15L;

  private static final int CELL_BITS = 24;
  private static final int CELLS_PER_WORD = 32;
  private static final int BITS_PER_CELL = 2;
  private static final long CELL_MASK = 3;

  private final BpfMap map;
  private final MappedMemory memory;
  private final UnsafeBuffer buffer;

  /**
   * Maps the bitmap.
   *
   * @throws agent.bindings.BindingsException where the kernel does not map it
   */
  public PrefilterCells(BpfMap map) {
    this.map = map;
    final int length = map.maxEntries() * Long.BYTES;
    memory = MappedMemory.map(map.fd(), 0, length, true);
    buffer = new UnsafeBuffer(memory.address(), length);
  }

  public BpfMap map() {
    return map;
  }

  /** Words of 64 bits. */
  public int words() {
    return map.maxEntries();
  }

  public long word(int index) {
    return buffer.getLongVolatile(index * Long.BYTES);
  }

  /** Replaces one word, which a program sees whole. */
  public void word(int index, long bits) {
    buffer.putLongRelease(index * Long.BYTES, bits);
  }

  /** The two-bit cell, a number of {@link agent.maps.layout.PrefilterCell}. */
  public int cell(int cell) {
    return (int) (word(cell / CELLS_PER_WORD) >>> cell % CELLS_PER_WORD * BITS_PER_CELL)
        & (int) CELL_MASK;
  }

  /** Replaces one two-bit cell. */
  public void cell(int cell, int state) {
    final int shift = cell % CELLS_PER_WORD * BITS_PER_CELL;
    final int index = cell / CELLS_PER_WORD;
    word(index, word(index) & ~(CELL_MASK << shift) | (state & CELL_MASK) << shift);
  }

  /** Whether the one-bit narrow cell is set. */
  public boolean narrowCell(int cell) {
    return (word(cell / Long.SIZE) >>> cell % Long.SIZE & 1) != 0;
  }

  /** Sets or clears the one-bit narrow cell. */
  public void narrowCell(int cell, boolean set) {
    final int index = cell / Long.SIZE;
    final long bit = 1L << cell % Long.SIZE;
    word(index, set ? word(index) | bit : word(index) & ~bit);
  }

  /** The narrow cell of an IPv6 address, by its upper 64 bits of which the top 48 count. */
  public static int narrowCellOf(long addressHigh) {
    return (int) ((addressHigh >>> 16) * HASH48 >>> Long.SIZE - CELL_BITS);
  }

  /** Unmaps the bitmap; the map stays. */
  @Override
  public void close() {
    buffer.wrap(0, 0);
    memory.close();
  }
}
