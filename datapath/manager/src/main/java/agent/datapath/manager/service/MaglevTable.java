package agent.datapath.manager.service;

import agent.datapath.spec.ServiceProxy;

/**
 * A table for choosing one of several weighted choices by a hash, so that most hashes keep their
 * choice where others come or go: D. E. Eisenbud et al., "Maglev: A Fast and Reliable Software
 * Network Load Balancer", NSDI 2016, section 3.4. Each choice takes free cells in an order of its
 * own, and as many turns as its weight says. The table is a function of the identities and weights.
 */
final class MaglevTable {
  /** Cells for the smallest weight: a share is right but for one cell. */
  private static final int SMALLEST_SHARE = 100;

  private static final long OTHER = 0x9e37_79b9_7f4a_7c15L;

  private final short[] choices;

  /**
   * Creates a table.
   *
   * @param identities of the choices, evenly distributed 64-bit numbers in any order
   * @param weights of the choices, at least 1 each
   * @param cells a size of {@link #cells}, at least the number of choices
   */
  MaglevTable(long[] identities, int[] weights, int cells) {
    final int count = identities.length;
    final int[] next = new int[count];
    final int[] step = new int[count];
    for (int i = 0; i < count; i++) {
      next[i] = (int) Long.remainderUnsigned(mix(identities[i]), cells);
      step[i] = 1 + (int) Long.remainderUnsigned(mix(identities[i] ^ OTHER), cells - 1L);
    }
    choices = new short[cells];
    fill(next, step, weights);
  }

  private void fill(int[] next, int[] step, int[] weights) {
    int heaviest = 0;
    for (final int weight : weights) {
      heaviest = Math.max(heaviest, weight);
    }
    final long[] credit = new long[weights.length];
    final boolean[] isTaken = new boolean[choices.length];
    int taken = 0;
    for (int i = 0; taken < choices.length; i = i + 1 == weights.length ? 0 : i + 1) {
      credit[i] += weights[i];
      if (credit[i] >= heaviest) {
        credit[i] -= heaviest;
        next[i] = free(isTaken, next[i], step[i]);
        isTaken[next[i]] = true;
        choices[next[i]] = (short) i;
        taken++;
      }
    }
  }

  /** Returns the first free cell in an order; the last cells are found after many others. */
  private static int free(boolean[] isTaken, int first, int step) {
    final int cells = isTaken.length;
    int cell = first;
    while (isTaken[cell]) {
      cell += step;
      cell -= cell < cells ? 0 : cells; // a step is shorter
    }
    return cell;
  }

  /**
   * Returns an even number of an address and port, or of another pair (finalizer of MurmurHash3).
   */
  static long mix(long value) {
    long mixed = (value ^ value >>> 33) * 0xff51_afd7_ed55_8ccdL;
    mixed = (mixed ^ mixed >>> 33) * 0xc4ce_b9fe_1a85_ec53L;
    return mixed ^ mixed >>> 33;
  }

  /**
   * Returns the number of cells for weights: a table grows and does not shrink, since another size
   * moves most hashes.
   *
   * @param former the number of cells of the table that there is; 0 where there is none
   * @param most the largest number of cells; 0 for no table
   */
  static int cells(int[] weights, int former, int most) {
    long sum = 0;
    long smallest = weights.length == 0 ? 1 : weights[0];
    for (final int weight : weights) {
      sum += weight;
      smallest = Math.min(smallest, weight);
    }
    int cells = 0;
    for (final int size : ServiceProxy.TABLE_SIZES) {
      if (size <= most && (cells < former || cells * smallest < SMALLEST_SHARE * sum)) {
        cells = size;
      }
    }
    return cells;
  }

  int cells() {
    return choices.length;
  }

  /** Returns the choice of a cell. */
  int choice(int cell) {
    return choices[cell];
  }
}
