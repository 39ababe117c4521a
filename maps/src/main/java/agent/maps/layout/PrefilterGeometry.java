package agent.maps.layout;

import java.util.Map;

/**
 * Computes the position of an address in the prefilter's bitmaps and tables. {@code enum
 * prefilter_geometry} in {@code maps/prefilter_map.h}, which documents cells and tables.
 */
public final class PrefilterGeometry {
  /** Number of leading address bits that form the number of a two-bit cell. */
  public static final int CELL_BITS = 24;

  /** Number of bits of a cell's state, see {@link PrefilterCell}. */
  private static final int STATE_BITS = 2;

  /** IPv6 prefixes of at least this many bits have a one-bit (narrow) cell. */
  public static final int NARROW_PREFIX = 48;

  private static final int WORD_SHIFT = 5;
  private static final int NARROW_WORD_SHIFT = 6;
  private static final int SLOT_SHIFT = 2;
  private static final int BUCKET_BITS = 17;
  private static final int SEARCH_STEPS = 20;
  private static final int HASH_HIGH = 0x9E3779B9;
  private static final int HASH_LOW = 0x7F4A7C15;
  private static final long HASH = (long) HASH_HIGH << Integer.SIZE | HASH_LOW;

  /** Number of two-bit cells in a word. */
  public static final int CELLS_PER_WORD = 1 << WORD_SHIFT;

  /** Number of words of each map of two-bit cells. */
  public static final int CELL_WORDS = 1 << CELL_BITS - WORD_SHIFT;

  /** Number of words of the map of one-bit cells. */
  public static final int NARROW_WORDS = 1 << CELL_BITS - NARROW_WORD_SHIFT;

  /** Number of prefixes of one address family that a list can have. */
  public static final int MAX_PREFIXES = 1_000_000;

  /** Number of words in a slot of a table. */
  public static final int WORDS_PER_SLOT = 1 << SLOT_SHIFT;

  /** Number of address bits within a block of the IPv4 table. */
  public static final int BLOCK_BITS = 13;

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

  static final EnumSpec ENUM =
      EnumSpec.of(
          "prefilter_geometry",
          Map.ofEntries(
              Map.entry("PREFILTER_CELL_BITS", CELL_BITS),
              Map.entry("PREFILTER_STATE_BITS", STATE_BITS),
              Map.entry("PREFILTER_WORD_SHIFT", WORD_SHIFT),
              Map.entry("PREFILTER_NARROW_WORD_SHIFT", NARROW_WORD_SHIFT),
              Map.entry("PREFILTER_NARROW_PREFIX", NARROW_PREFIX),
              Map.entry("PREFILTER_HASH_HIGH", HASH_HIGH),
              Map.entry("PREFILTER_HASH_LOW", HASH_LOW),
              Map.entry("PREFILTER_MAX_PREFIXES", MAX_PREFIXES),
              Map.entry("PREFILTER_SLOT_SHIFT", SLOT_SHIFT),
              Map.entry("PREFILTER_BLOCK_BITS", BLOCK_BITS),
              Map.entry("PREFILTER_BUCKET_BITS", BUCKET_BITS),
              Map.entry("PREFILTER_SEARCH_STEPS", SEARCH_STEPS)));

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

  /** Returns the bucket of an IPv6 prefix shorter than {@link #NARROW_PREFIX}. */
  public static int wideBucket(long addressHigh) {
    return (int) (wideCell6(addressHigh) * HASH >>> Long.SIZE - BUCKET_BITS);
  }

  /** Returns the bucket of an IPv6 prefix of at least {@link #NARROW_PREFIX} bits. */
  public static int narrowBucket(long addressHigh) {
    return narrowCell6(addressHigh) >>> CELL_BITS - BUCKET_BITS | 1 << BUCKET_BITS;
  }
}
