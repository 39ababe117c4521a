package agent.datapath.manager.prefilter;

import agent.types.Prefix;
import java.util.Arrays;
import java.util.List;

/**
 * The bitmaps that a deny list makes ({@code maps/prefilter_map.h}), computed in heap memory that
 * is kept: {@link #rebuild} first, then whoever writes the kernel's maps copies the words that
 * differ. For one thread at a time.
 */
public final class CellPlan {
  /** Words of either map of two-bit cells. */
  public static final int CELL_WORDS = 1 << 19;

  /** Words of the map of one-bit cells. */
  public static final int NARROW_WORDS = 1 << 18;

  private static final int CELL_BITS = 24;
  private static final int NARROW_FROM = 48;
  private static final long PART = 1;
  private static final long WHOLE = 3;
  private static final long HASH48 = 0x9E3779B97F4A7C15L;

  private final long[] cells4 = new long[CELL_WORDS];
  private final long[] wide6 = new long[CELL_WORDS];
  private final long[] narrow6 = new long[NARROW_WORDS];

  /** Computes all cells of a list. */
  public void rebuild(List<Prefix> deny) {
    Arrays.fill(cells4, 0);
    Arrays.fill(wide6, 0);
    Arrays.fill(narrow6, 0);
    for (final Prefix prefix : deny) {
      if (prefix.isIpv4()) {
        mark(cells4, (int) prefix.address().low() >>> 32 - CELL_BITS, prefix.length());
      } else if (prefix.length() < NARROW_FROM) {
        mark(wide6, (int) (prefix.address().high() >>> 64 - CELL_BITS), prefix.length());
      } else {
        final int cell = narrowCell(prefix.address().high());
        narrow6[cell >>> 6] |= 1L << (cell & 63);
      }
    }
  }

  /** The words of {@code prefilter4_cells}; not to be changed. */
  public long[] cells4() {
    return cells4;
  }

  /** The words of {@code prefilter6_wide_cells}; not to be changed. */
  public long[] wide6() {
    return wide6;
  }

  /** The words of {@code prefilter6_narrow_cells}; not to be changed. */
  public long[] narrow6() {
    return narrow6;
  }

  static int narrowCell(long high) {
    return (int) ((high >>> 16) * HASH48 >>> 64 - CELL_BITS);
  }

  private static void mark(long[] words, int cell, int length) {
    if (length > CELL_BITS) {
      words[cell >>> 5] |= PART << ((cell & 31) << 1);
      return;
    }
    final int end = cell + (1 << CELL_BITS - length);
    int next = cell;
    while (next < end) {
      if ((next & 31) == 0 && end - next >= 32) {
        Arrays.fill(words, next >>> 5, end >>> 5, -1L);
        next = end & ~31;
      } else {
        words[next >>> 5] |= WHOLE << ((next & 31) << 1);
        next++;
      }
    }
  }
}
