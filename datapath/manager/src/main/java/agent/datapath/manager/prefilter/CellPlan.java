package agent.datapath.manager.prefilter;

import agent.maps.layout.PrefilterCell;
import agent.maps.layout.PrefilterGeometry;
import agent.maps.layout.PrefilterLayout;
import agent.maps.layout.PrefilterTable;
import agent.types.Prefix;
import java.util.Arrays;
import java.util.List;

/**
 * The bitmaps and tables of a deny list ({@code maps/prefilter_map.h}) in reused heap memory.
 * {@link #rebuild} computes them; {@link PrefilterUpdate} then writes them to the kernel. For one
 * thread at a time.
 */
public final class CellPlan {
  private static final int CELL_BITS = PrefilterLayout.CELL_BITS;
  private static final int CELLS_PER_WORD = PrefilterGeometry.CELLS_PER_WORD;
  private static final long PART = PrefilterCell.PART.number();
  private static final long WHOLE = PrefilterCell.WHOLE.number();

  private final long[] cells4 = new long[PrefilterGeometry.CELL_WORDS];
  private final long[] wide6 = new long[PrefilterGeometry.CELL_WORDS];
  private final long[] narrow6 = new long[PrefilterGeometry.NARROW_WORDS];

  private final ListPlan list = new ListPlan();
  private final Ipv4Plan ipv4 = new Ipv4Plan();
  private final Ipv6Plan ipv6 = new Ipv6Plan();

  /** Computes all cells and tables of a sorted deny list, which the caller must not change. */
  public void rebuild(List<Prefix> deny) {
    list.rebuild(deny);
    ipv4.rebuild(deny);
    ipv6.rebuild(deny);
    Arrays.fill(cells4, 0);
    Arrays.fill(wide6, 0);
    Arrays.fill(narrow6, 0);
    for (final Prefix prefix : deny) {
      if (prefix.isIpv4()) {
        mark(cells4, PrefilterGeometry.cell4((int) prefix.address().low()), prefix.length());
      } else if (prefix.length() < PrefilterLayout.NARROW_PREFIX) {
        mark(wide6, PrefilterGeometry.wideCell6(prefix.address().high()), prefix.length());
      } else {
        final int cell = PrefilterGeometry.narrowCell6(prefix.address().high());
        narrow6[PrefilterGeometry.narrowWord(cell)] |= PrefilterGeometry.narrowBit(cell);
      }
    }
  }

  /** Returns the words of a table. */
  TablePlan table(PrefilterTable table) {
    return switch (table) {
      case LIST -> list;
      case IPV4 -> ipv4;
      case IPV6 -> ipv6;
    };
  }

  /** Returns the words of {@code prefilter4_cells}; the caller must not change them. */
  public long[] cells4() {
    return cells4;
  }

  /** Returns the words of {@code prefilter6_wide_cells}; the caller must not change them. */
  public long[] wide6() {
    return wide6;
  }

  /** Returns the words of {@code prefilter6_narrow_cells}; the caller must not change them. */
  public long[] narrow6() {
    return narrow6;
  }

  private static void mark(long[] words, int cell, int length) {
    if (length > CELL_BITS) {
      words[PrefilterGeometry.word(cell)] |= PART << PrefilterGeometry.shift(cell);
      return;
    }
    final int count = 1 << CELL_BITS - length;
    if (count >= CELLS_PER_WORD) { // a prefix begins where a multiple of its size does
      Arrays.fill(words, PrefilterGeometry.word(cell), PrefilterGeometry.word(cell + count), -1L);
      return;
    }
    for (int next = cell; next < cell + count; next++) {
      words[PrefilterGeometry.word(next)] |= WHOLE << PrefilterGeometry.shift(next);
    }
  }
}
