package agent.datapath.manager.prefilter;

import agent.maps.layout.PrefilterGeometry;
import agent.maps.layout.PrefilterLayout;
import agent.types.Prefix;
import java.util.Arrays;
import java.util.List;

/**
 * The IPv6 table: the prefixes longer than a cell in two classes, each sorted in its bucket and
 * without those that another one of the same class covers. A prefix of one class takes nothing out
 * of the other, nor does a shorter one.
 */
final class Ipv6Plan implements TablePlan {
  private static final int WORDS = PrefilterGeometry.WORDS_PER_SLOT;

  private final long[] buckets = new long[PrefilterGeometry.BUCKET_WORDS];
  private List<Prefix> deny = List.of();
  private int[] entries = new int[0];
  private int entryCount;

  /** Computes the table of a sorted list. */
  void rebuild(List<Prefix> list) {
    deny = list;
    Arrays.fill(buckets, 0);
    final int[] kept = kept(list);
    for (final int index : kept) {
      buckets[bucket(list.get(index))]++;
    }
    long next = PrefilterGeometry.FIRST_ENTRY;
    for (int i = 0; i < buckets.length; i++) {
      final long count = buckets[i];
      buckets[i] = count == 0 ? 0 : next << Integer.SIZE | next;
      next += count;
    }
    entryCount = kept.length;
    entries = new int[entryCount];
    for (final int index : kept) {
      final int bucket = bucket(list.get(index));
      entries[(int) (buckets[bucket] >>> Integer.SIZE) - PrefilterGeometry.FIRST_ENTRY] = index;
      buckets[bucket] += 1L << Integer.SIZE;
    }
  }

  /** Returns the indexes of the prefixes that have an entry. */
  private static int[] kept(List<Prefix> list) {
    final int[] kept = new int[list.size()];
    int count = 0;
    Prefix wide = null;
    Prefix narrow = null;
    for (int i = 0; i < list.size(); i++) {
      final Prefix prefix = list.get(i);
      if (prefix.isIpv4() || prefix.length() <= PrefilterLayout.CELL_BITS) {
        continue;
      }
      if (isNarrow(prefix)) {
        if (narrow == null || !narrow.covers(prefix)) {
          narrow = prefix;
          kept[count++] = i;
        }
      } else if (wide == null || !wide.covers(prefix)) {
        wide = prefix;
        kept[count++] = i;
      }
    }
    return Arrays.copyOf(kept, count);
  }

  private static boolean isNarrow(Prefix prefix) {
    return prefix.length() >= PrefilterLayout.NARROW_PREFIX;
  }

  private static int bucket(Prefix prefix) {
    return isNarrow(prefix)
        ? PrefilterGeometry.narrowBucket(prefix.address().high())
        : PrefilterGeometry.wideBucket(prefix.address().high());
  }

  @Override
  public int slots() {
    return PrefilterGeometry.FIRST_ENTRY + entryCount;
  }

  @Override
  public long word(int index) {
    if (index < buckets.length) {
      return buckets[index];
    }
    final Prefix prefix = deny.get(entries[index / WORDS - PrefilterGeometry.FIRST_ENTRY]);
    return switch (index % WORDS) {
      case 0 -> prefix.address().high();
      case 1 -> prefix.address().low();
      case 2 -> prefix.address().high() | hostBits(prefix.length());
      default -> prefix.address().low() | hostBits(prefix.length() - Long.SIZE);
    };
  }

  /** Returns the bits of a half of the address that lie behind the first ones. */
  private static long hostBits(int prefixBits) {
    return prefixBits >= Long.SIZE ? 0 : -1L >>> Math.max(0, prefixBits);
  }
}
