package agent.datapath.manager.prefilter;

import agent.maps.layout.PrefilterGeometry;
import agent.maps.layout.PrefilterLayout;
import agent.types.Prefix;
import java.util.Arrays;
import java.util.List;

/**
 * The IPv4 table: blocks that hold one or two prefixes longer than a cell themselves; for the
 * others a leaf of 256 bits for each cell that contains such prefixes, found by the number of such
 * cells before it in its block. Shorter prefixes are not in it, and take nothing out of it.
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
    int next = 0;
    while (next < deny.size() && deny.get(next).isIpv4()) {
      next = addBlock(deny, next);
    }
  }

  /** Adds the prefixes of one block; returns the index after its last. */
  private int addBlock(List<Prefix> deny, int from) {
    final int block = block(deny.get(from));
    Prefix first = null;
    Prefix last = null;
    int count = 0;
    int to = from;
    for (; to < deny.size() && deny.get(to).isIpv4() && block(deny.get(to)) == block; to++) {
      if (isLong(deny.get(to))) {
        first = count == 0 ? deny.get(to) : first;
        last = deny.get(to);
        count++;
      }
    }
    if (count > 2) {
      addLeaves(deny.subList(from, to));
    } else if (count > 0) {
      blocks[block] =
          PrefilterGeometry.BLOCK_OF_TWO
              | inBlock(first)
              | inBlock(last) << 2 * PrefilterLayout.BLOCK_BITS;
    }
    return to;
  }

  private static int block(Prefix prefix) {
    return PrefilterGeometry.block4((int) prefix.address().low());
  }

  private static boolean isLong(Prefix prefix) {
    return prefix.length() > PrefilterLayout.CELL_BITS;
  }

  private static long inBlock(Prefix prefix) {
    return PrefilterGeometry.blockPrefix((int) prefix.address().low(), prefix.length());
  }

  private void addLeaves(List<Prefix> ofBlock) {
    int last = -1;
    for (final Prefix prefix : ofBlock) {
      if (isLong(prefix)) {
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
