package agent.maps.layout;

import static agent.maps.layout.PrefilterLayout.BLOCK_BITS;
import static agent.maps.layout.PrefilterLayout.BUCKET_BITS;
import static agent.maps.layout.PrefilterLayout.CELL_BITS;
import static agent.maps.layout.PrefilterLayout.HASH_HIGH;
import static agent.maps.layout.PrefilterLayout.HASH_LOW;
import static agent.maps.layout.PrefilterLayout.NARROW_PREFIX;
import static agent.maps.layout.PrefilterLayout.NARROW_WORD_SHIFT;
import static agent.maps.layout.PrefilterLayout.SLOT_SHIFT;
import static agent.maps.layout.PrefilterLayout.STATE_BITS;
import static agent.maps.layout.PrefilterLayout.WORD_SHIFT;

/**
 * Computes the position of an address in the prefilter's bitmaps and tables. The header of {@link
 * PrefilterLayout} documents cells and tables.
 */
public final class PrefilterGeometry {
  private static final long HASH = (long) HASH_HIGH << Integer.SIZE | HASH_LOW;

  /** Number of two-bit cells in a word. */
  public static final int CELLS_PER_WORD = 1 << WORD_SHIFT;

  /** Number of words of each map of two-bit cells. */
  public static final int CELL_WORDS = 1 << CELL_BITS - WORD_SHIFT;

  /** Number of words of the map of one-bit cells. */
  public static final int NARROW_WORDS = 1 << CELL_BITS - NARROW_WORD_SHIFT;

  /** Number of words in a slot of a table. */
  public static final int WORDS_PER_SLOT = 1 << SLOT_SHIFT;

  /** Set in a block that holds one or two prefixes itself. */
  public static final long BLOCK_OF_TWO = Long.MIN_VALUE;

  /** Number of cells in a block of the IPv4 table. */
  public static final int CELLS_PER_BLOCK = 1 << WORD_SHIFT;

  /** Number of words of the IPv4 table that hold a block each. */
  public static final int BLOCK_WORDS = 1 << CELL_BITS - WORD_SHIFT;

  /** Slot of the first leaf of the IPv4 table, after its blocks. */
  public static final int FIRST_LEAF = BLOCK_WORDS / WORDS_PER_SLOT;

  /** Number of words of the IPv6 table that hold a bucket each. */
  public static final int BUCKET_WORDS = 2 << BUCKET_BITS;

  /** Slot of the first entry of the IPv6 table, after its buckets. */
  public static final int FIRST_ENTRY = BUCKET_WORDS / WORDS_PER_SLOT;

  private PrefilterGeometry() {}

  /** Returns the two-bit cell of an IPv4 address, whose first octet is the most significant. */
  public static int cell4(int address) {
    return address >>> Integer.SIZE - CELL_BITS;
  }

  /** Returns the block of an IPv4 address. */
  public static int block4(int address) {
    return address >>> BLOCK_BITS;
  }

  /** Returns the bits of an IPv4 prefix longer than a cell, and above them its mask, in a block. */
  public static long blockPrefix(int address, int length) {
    final int bits = (1 << BLOCK_BITS) - 1;
    return address & bits | (-1L << Integer.SIZE - length & bits) << BLOCK_BITS;
  }

  /** Returns the two-bit cell of an IPv6 address, given its upper 64 bits. */
  public static int wideCell6(long addressHigh) {
    return (int) (addressHigh >>> Long.SIZE - CELL_BITS);
  }

  /**
   * Returns the one-bit cell of an IPv6 address, given its upper 64 bits, of which the top 48 are
   * used.
   */
  public static int narrowCell6(long addressHigh) {
    return (int) ((addressHigh >>> Long.SIZE - NARROW_PREFIX) * HASH >>> Long.SIZE - CELL_BITS);
  }

  /** Returns the index of the word that contains a two-bit cell. */
  public static int word(int cell) {
    return cell >>> WORD_SHIFT;
  }

  /** Returns the position of a two-bit cell's lowest bit in its word. */
  public static int shift(int cell) {
    return (cell & CELLS_PER_WORD - 1) * STATE_BITS;
  }

  /** Returns the index of the word that contains a one-bit cell. */
  public static int narrowWord(int cell) {
    return cell >>> NARROW_WORD_SHIFT;
  }

  /** Returns the mask of a one-bit cell in its word. */
  public static long narrowBit(int cell) {
    return 1L << (cell & (1 << NARROW_WORD_SHIFT) - 1);
  }

  /** Returns the bucket of an IPv6 prefix shorter than {@link PrefilterLayout#NARROW_PREFIX}. */
  public static int wideBucket(long addressHigh) {
    return (int) (wideCell6(addressHigh) * HASH >>> Long.SIZE - BUCKET_BITS);
  }

  /**
   * Returns the bucket of an IPv6 prefix of at least {@link PrefilterLayout#NARROW_PREFIX} bits.
   */
  public static int narrowBucket(long addressHigh) {
    return narrowCell6(addressHigh) >>> CELL_BITS - BUCKET_BITS | 1 << BUCKET_BITS;
  }
}
