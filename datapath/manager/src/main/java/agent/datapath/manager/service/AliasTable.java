package agent.datapath.manager.service;

/**
 * A table for drawing one of several weighted choices with one lookup: M. D. Vose, "A linear
 * algorithm for generating random numbers with a given distribution", IEEE Transactions on Software
 * Engineering 17(9), 1991. A column is drawn evenly, and of its two choices the own one where an
 * even 32-bit number is at most the threshold.
 */
final class AliasTable {
  private static final long WHOLE = 1L << Integer.SIZE;

  private final int[] other;
  private final int[] threshold;

  /**
   * Creates the table of weights of at least 1 each, whose sum times their number fits into 31
   * bits.
   */
  AliasTable(int[] weights) {
    final int columns = weights.length;
    long sum = 0;
    for (final int weight : weights) {
      sum += weight;
    }
    other = new int[columns];
    threshold = new int[columns];
    final long[] rest = new long[columns]; // of the weight, in units of 1/columns; sum fills one
    final int[] small = new int[columns];
    final int[] large = new int[columns];
    int smalls = 0;
    int larges = 0;
    for (int i = 0; i < columns; i++) {
      other[i] = i;
      threshold[i] = -1;
      rest[i] = (long) weights[i] * columns;
      if (rest[i] < sum) {
        small[smalls++] = i;
      } else {
        large[larges++] = i;
      }
    }
    while (smalls > 0 && larges > 0) {
      final int filled = small[--smalls];
      final int by = large[larges - 1];
      other[filled] = by;
      threshold[filled] = (int) (rest[filled] * WHOLE / sum - 1); // rest >= 1 and sum < WHOLE
      rest[by] -= sum - rest[filled];
      if (rest[by] < sum) {
        larges--;
        small[smalls++] = by;
      }
    }
  }

  /** Returns the choice above the threshold of a column. */
  int other(int column) {
    return other[column];
  }

  /** Returns the largest unsigned number that takes the own choice of a column. */
  int threshold(int column) {
    return threshold[column];
  }
}
