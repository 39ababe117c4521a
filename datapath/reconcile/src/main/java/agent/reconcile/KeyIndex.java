package agent.reconcile;

import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * Finds rows by the hash of their keys: open addressing in one segment and, beyond {@value
 * #MOST_UNDIVIDED} rows, in {@value #SEGMENTS} segments that grow one at a time, so that a table of
 * a million rows copies 4,000 slots at once, and not all. A slot holds the hash beside the number
 * of the row: growing reads no row. Allocates only when a segment grows.
 */
final class KeyIndex {
  private static final int SEGMENTS = 256;
  private static final int SEGMENT_SHIFT = Integer.SIZE - 8;
  private static final int SMALLEST = 8;
  private static final int MOST_UNDIVIDED = 2048;
  private static final int FACTOR = 0x9E3779B1;

  private UnsafeBuffer[] segments = new UnsafeBuffer[1];
  private int[] sizes = new int[1];
  private UnsafeBuffer sought;
  private int soughtHash;
  private int slot;

  /** Returns the hash of a key, whose length is a multiple of four. */
  static int hash(DirectBuffer key, int bytes) {
    int hash = 0;
    for (int i = 0; i < bytes; i += Integer.BYTES) {
      hash = (hash ^ key.getInt(i)) * FACTOR;
      hash ^= hash >>> 15;
    }
    return hash * FACTOR;
  }

  /** Returns the first row with a hash, or -1; {@link #next} returns those after it. */
  int first(int hash) {
    sought = segments[segmentOf(hash)];
    if (sought == null) {
      return -1;
    }
    soughtHash = hash;
    slot = (hash & mask(sought)) - 1;
    return next();
  }

  /** Returns the next row with the hash of {@link #first}, or -1. */
  int next() {
    final UnsafeBuffer segment = sought; // fields are read once, also before this is optimized
    final int mask = mask(segment);
    final int hash = soughtHash;
    int at = slot;
    long found;
    do {
      at = at + 1 & mask;
      found = get(segment, at);
    } while (found != 0 && hashOf(found) != hash);
    slot = at;
    return (int) found - 1;
  }

  /** Adds a row that is not in the index. */
  void add(int hash, int row) {
    if (segments.length == 1 && sizes[0] == MOST_UNDIVIDED) {
      divide();
    }
    add((long) hash << Integer.SIZE | row + 1);
  }

  private int segmentOf(int hash) {
    return segments.length == 1 ? 0 : hash >>> SEGMENT_SHIFT;
  }

  private void divide() {
    final UnsafeBuffer whole = segments[0];
    segments = new UnsafeBuffer[SEGMENTS];
    sizes = new int[SEGMENTS];
    for (int i = 0; i <= mask(whole); i++) {
      if (get(whole, i) != 0) {
        add(get(whole, i));
      }
    }
  }

  private void add(long entry) {
    final int number = segmentOf(hashOf(entry));
    UnsafeBuffer segment = segments[number];
    if (segment == null) {
      segment = OffHeap.allocate(SMALLEST * Long.BYTES);
      segments[number] = segment;
    }
    sizes[number]++;
    if (3 * sizes[number] > 2 * (mask(segment) + 1)) {
      segment = grown(segment);
      segments[number] = segment;
    }
    insert(segment, entry);
  }

  private static UnsafeBuffer grown(UnsafeBuffer segment) {
    final UnsafeBuffer wider = OffHeap.allocate(2 * segment.capacity());
    for (int i = 0; i <= mask(segment); i++) {
      final long entry = get(segment, i);
      if (entry != 0) {
        insert(wider, entry);
      }
    }
    return wider;
  }

  private static void insert(UnsafeBuffer segment, long entry) {
    int at = hashOf(entry) & mask(segment);
    while (get(segment, at) != 0) {
      at = at + 1 & mask(segment);
    }
    segment.putLong(at * Long.BYTES, entry);
  }

  /** Removes a row; those behind it that a search would no longer find move up. */
  void remove(int hash, int row) {
    final int number = segmentOf(hash);
    final UnsafeBuffer segment = segments[number];
    final int mask = mask(segment);
    int hole = hash & mask;
    while ((int) get(segment, hole) != row + 1) {
      hole = hole + 1 & mask;
    }
    for (int next = hole + 1 & mask; get(segment, next) != 0; next = next + 1 & mask) {
      final int home = hashOf(get(segment, next)) & mask;
      final boolean stays =
          hole <= next ? hole < home && home <= next : hole < home || home <= next;
      if (!stays) {
        segment.putLong(hole * Long.BYTES, get(segment, next));
        hole = next;
      }
    }
    segment.putLong(hole * Long.BYTES, 0);
    sizes[number]--;
  }

  private static long get(UnsafeBuffer segment, int slot) {
    return segment.getLong(slot * Long.BYTES);
  }

  private static int hashOf(long entry) {
    return (int) (entry >>> Integer.SIZE);
  }

  private static int mask(UnsafeBuffer segment) {
    return segment.capacity() / Long.BYTES - 1;
  }
}
