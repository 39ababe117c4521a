package agent.datapath.manager.prefilter;

import agent.maps.layout.PrefilterGeometry;
import agent.types.Prefix;
import java.util.Arrays;
import java.util.List;

/**
 * The IPv4 table: a leaf of 256 bits for each cell that contains prefixes longer than a cell, found
 * by the number of such cells before it in its block. Shorter prefixes are not in it, and take
 * nothing out of it.
 */
final class Ipv4Plan implements TablePlan {
  private static final int WORDS = PrefilterGeometry.WORDS_PER_SLOT;
  private static final int LEAF_BITS = WORDS * Long.SIZE;

  private final long[] blocks = new long[PrefilterGeometry.BLOCK_WORDS];
  private long[] leaves = new long[0];
  private int leafCount;

  /** Computes the table of a sorted list. */
  void rebuild(List<Prefix> deny) {
    Arrays.fill(blocks, 0);
    Arrays.fill(leaves, 0, leafCount * WORDS, 0);
    leafCount = 0;
    int last = -1;
    for (int i = 0; i < deny.size() && deny.get(i).isIpv4(); i++) {
      final Prefix prefix = deny.get(i);
      if (prefix.length() > PrefilterGeometry.CELL_BITS) {
        final int address = (int) prefix.address().low();
        final int cell = PrefilterGeometry.cell4(address);
        if (cell != last) {
          addLeaf(cell);
          last = cell;
        }
        set(address & LEAF_BITS - 1, 1 << Integer.SIZE - prefix.length());
      }
    }
  }

  private void addLeaf(int cell) {
    final int block = cell / PrefilterGeometry.CELLS_PER_BLOCK;
    if (blocks[block] == 0) {
      blocks[block] = (long) (PrefilterGeometry.FIRST_LEAF + leafCount) << Integer.SIZE;
    }
    blocks[block] |= 1L << cell % PrefilterGeometry.CELLS_PER_BLOCK;
    leafCount++;
    if (leafCount * WORDS > leaves.length) {
      leaves = Arrays.copyOf(leaves, Math.max(1024, leaves.length * 2));
    }
  }

  /** Sets bits of the last leaf; a prefix lies in one word, or takes whole words. */
  private void set(int first, int count) {
    final int leaf = (leafCount - 1) * WORDS;
    if (count < Long.SIZE) {
      leaves[leaf + first / Long.SIZE] |= (1L << count) - 1 << first;
    } else {
      Arrays.fill(leaves, leaf + first / Long.SIZE, leaf + (first + count) / Long.SIZE, -1L);
    }
  }

  @Override
  public int slots() {
    return PrefilterGeometry.FIRST_LEAF + leafCount;
  }

  @Override
  public long word(int index) {
    return index < blocks.length ? blocks[index] : leaves[index - blocks.length];
  }
}
