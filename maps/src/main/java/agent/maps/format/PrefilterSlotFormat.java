package agent.maps.format;

import agent.maps.layout.PrefilterGeometry;
import agent.maps.layout.PrefilterLayout;
import agent.maps.layout.PrefilterSlotFlyweight;
import agent.maps.layout.PrefilterTable;
import org.agrona.MutableDirectBuffer;

/**
 * Formats a table of the prefilter. The list: {@code 10.0.0.0/8} and {@code deny}. IPv4: {@code
 * block 10.1.0.0} and {@code 10.1.2.0/24 leaf 131072} or, of a block with few prefixes, {@code
 * 10.1.2.3/32}; {@code leaf 131072} and the last octets that are denied. IPv6: {@code bucket 40}
 * and {@code bucket 41 entries 65536 to 65538}; {@code entry 65536} and {@code 2001:db8::/48}.
 */
final class PrefilterSlotFormat implements MapFormat {
  private static final int WORDS = PrefilterGeometry.WORDS_PER_SLOT;
  private static final int LENGTH_WORD = 2;
  private static final int FAMILY_WORD = 3;
  private static final int IPV4 = 4;

  private final PrefilterTable table;

  PrefilterSlotFormat(PrefilterTable table) {
    this.table = table;
  }

  @Override
  public void appendKey(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset) {
    final int slot = key.getInt(keyOffset);
    switch (table) {
      case LIST -> {
        if (value == null) {
          FieldText.unsigned(out.append("prefix "), slot);
        } else {
          prefix(out, new PrefilterSlotFlyweight().wrap(value, valueOffset));
        }
      }
      case IPV4 -> {
        if (slot < PrefilterGeometry.FIRST_LEAF) {
          address(out.append("block "), slot * WORDS * PrefilterGeometry.CELLS_PER_BLOCK);
        } else {
          FieldText.unsigned(out.append("leaf "), slot);
        }
      }
      default -> {
        final boolean isBucket = slot < PrefilterGeometry.FIRST_ENTRY;
        FieldText.unsigned(
            out.append(isBucket ? "bucket " : "entry "), isBucket ? slot * WORDS : slot);
      }
    }
  }

  @Override
  public void appendValue(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset) {
    final int slot = key.getInt(keyOffset);
    final PrefilterSlotFlyweight words = new PrefilterSlotFlyweight().wrap(value, valueOffset);
    switch (table) {
      case LIST -> out.append("deny");
      case IPV4 -> {
        if (slot < PrefilterGeometry.FIRST_LEAF) {
          blocks(out, slot * WORDS, words);
        } else {
          leaf(out, words);
        }
      }
      default -> {
        if (slot < PrefilterGeometry.FIRST_ENTRY) {
          buckets(out, slot * WORDS, words);
        } else {
          FieldText.ipv6(out, words.words(0), words.words(1));
          out.append('/').append(length(words));
        }
      }
    }
  }

  @Override
  public boolean present(MutableDirectBuffer value, int valueOffset) {
    final PrefilterSlotFlyweight words = new PrefilterSlotFlyweight().wrap(value, valueOffset);
    long all = 0;
    for (int i = 0; i < WORDS; i++) {
      all |= words.words(i);
    }
    return all != 0;
  }

  private static void prefix(StringBuilder out, PrefilterSlotFlyweight words) {
    if (words.words(FAMILY_WORD) == IPV4) {
      FieldText.ipv4(out, (int) words.words(1));
    } else {
      FieldText.ipv6(out, words.words(0), words.words(1));
    }
    out.append('/').append(words.words(LENGTH_WORD));
  }

  private static void address(StringBuilder out, int cell) {
    FieldText.ipv4(out, cell << Integer.SIZE - PrefilterLayout.CELL_BITS);
  }

  private static void blocks(StringBuilder out, int first, PrefilterSlotFlyweight words) {
    String separator = "";
    for (int i = 0; i < WORDS; i++) {
      if ((words.words(i) & PrefilterGeometry.BLOCK_OF_TWO) != 0) {
        final long one = words.words(i);
        final long other = one >>> 2 * PrefilterLayout.BLOCK_BITS;
        prefix(out.append(separator), first + i, one);
        if (((one ^ other) & (1L << 2 * PrefilterLayout.BLOCK_BITS) - 1) != 0) {
          prefix(out.append(", "), first + i, other);
        }
        separator = ", ";
        continue;
      }
      final int cells = (int) words.words(i);
      int leaf = (int) (words.words(i) >>> Integer.SIZE);
      for (int bit = 0; bit < PrefilterGeometry.CELLS_PER_BLOCK; bit++) {
        if ((cells >>> bit & 1) != 0) {
          address(out.append(separator), (first + i) * PrefilterGeometry.CELLS_PER_BLOCK + bit);
          FieldText.unsigned(out.append("/24 leaf "), leaf++);
          separator = ", ";
        }
      }
    }
  }

  /** Appends a prefix that a block holds itself. */
  private static void prefix(StringBuilder out, int block, long prefix) {
    final int bits = (1 << PrefilterLayout.BLOCK_BITS) - 1;
    final int mask = (int) (prefix >>> PrefilterLayout.BLOCK_BITS) & bits;
    FieldText.ipv4(out, block << PrefilterLayout.BLOCK_BITS | (int) prefix & bits);
    FieldText.unsigned(
        out.append('/'), Integer.SIZE - PrefilterLayout.BLOCK_BITS + Integer.bitCount(mask));
  }

  /** Appends the last octets of the denied addresses, such as {@code 1, 64-127}. */
  private static void leaf(StringBuilder out, PrefilterSlotFlyweight words) {
    String separator = "";
    int octet = 0;
    while (octet < WORDS * Long.SIZE) {
      final int from = octet;
      while (octet < WORDS * Long.SIZE && (words.words(octet / Long.SIZE) >>> octet & 1) != 0) {
        octet++;
      }
      if (octet > from) {
        FieldText.unsigned(out.append(separator), from);
        if (octet > from + 1) {
          FieldText.unsigned(out.append('-'), octet - 1);
        }
        separator = ", ";
      }
      octet++;
    }
  }

  private static void buckets(StringBuilder out, int first, PrefilterSlotFlyweight words) {
    String separator = "";
    for (int i = 0; i < WORDS; i++) {
      final long entries = words.words(i);
      if (entries != 0) {
        FieldText.unsigned(out.append(separator).append("bucket "), first + i);
        FieldText.unsigned(out.append(" entries "), (int) entries);
        FieldText.unsigned(out.append(" to "), (int) (entries >>> Integer.SIZE) - 1);
        separator = ", ";
      }
    }
  }

  private static int length(PrefilterSlotFlyweight words) {
    final long high = words.words(0) ^ words.words(2);
    final long low = words.words(1) ^ words.words(3);
    return high != 0 ? Long.numberOfLeadingZeros(high) : Long.SIZE + Long.numberOfLeadingZeros(low);
  }
}
