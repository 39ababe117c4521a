package agent.datapath.manager.guard;

import java.util.Arrays;
import org.agrona.DirectBuffer;
import org.agrona.MutableDirectBuffer;

/**
 * The desired entries of one map: a hash table in one array of words, 20 to 60 bytes for an entry
 * of a policy map. A comparison with the kernel marks the entries that it has seen in its round;
 * what is put during a round counts as seen. Allocates only when it grows. For the conductor's
 * thread.
 */
public final class DesiredEntries {
  /** What {@link #compare} found. */
  enum Found {
    EQUAL,
    OTHER_VALUE,
    NOT_DESIRED
  }

  private static final int SMALLEST = 8;
  private static final int FACTOR = 0x9E3779B1;

  private final int keyWords;
  private final int valueWords;
  private final int stride;
  private int[] words;
  private int mask;
  private int size;
  private int seen;
  private int round = 1; // the first word of a slot is the round of its mark; 0 is an empty slot

  /**
   * Creates an empty table.
   *
   * @param keyBytes a multiple of 4
   * @param valueBytes a multiple of 4
   */
  public DesiredEntries(int keyBytes, int valueBytes) {
    keyWords = keyBytes / Integer.BYTES;
    valueWords = valueBytes / Integer.BYTES;
    stride = 1 + keyWords + valueWords;
    clear();
  }

  /** Removes all entries. */
  public void clear() {
    words = new int[SMALLEST * stride];
    mask = SMALLEST - 1;
    size = 0;
    seen = 0;
  }

  /**
   * Puts an entry, whose key and value are at the start of the buffers.
   *
   * @return false where the table has it already
   */
  public boolean put(DirectBuffer key, DirectBuffer value) {
    if ((size + 1) * 3 > (mask + 1) * 2) {
      grow();
    }
    int slot = find(key);
    if (slot < 0) {
      slot = ~slot;
      for (int i = 0; i < keyWords; i++) {
        words[slot * stride + 1 + i] = key.getInt(i * Integer.BYTES);
      }
      words[slot * stride] = round;
      size++;
      seen++;
    } else if (isValueOf(slot, value)) {
      return false;
    }
    for (int i = 0; i < valueWords; i++) {
      words[slot * stride + 1 + keyWords + i] = value.getInt(i * Integer.BYTES);
    }
    return true;
  }

  /** Removes the entry of a key, if there is one. */
  public void remove(DirectBuffer key) {
    int hole = find(key);
    if (hole < 0) {
      return;
    }
    seen -= words[hole * stride] == round ? 1 : 0;
    size--;
    for (int next = hole + 1 & mask; words[next * stride] != 0; next = next + 1 & mask) {
      final int home = home(words, next * stride);
      final boolean stays =
          hole <= next ? hole < home && home <= next : hole < home || home <= next;
      if (!stays) {
        System.arraycopy(words, next * stride, words, hole * stride, stride);
        hole = next;
      }
    }
    words[hole * stride] = 0;
  }

  /** Returns the number of entries. */
  public int size() {
    return size;
  }

  /** Returns whether there is an entry of a key. */
  public boolean hasKey(DirectBuffer key) {
    return find(key) >= 0;
  }

  /** Returns whether there is an entry of a key with a value. */
  public boolean holds(DirectBuffer key, DirectBuffer value) {
    final int slot = find(key);
    return slot >= 0 && isValueOf(slot, value);
  }

  /** Returns how many entries another table of this shape has, too. */
  public int countIn(DesiredEntries other) {
    int count = 0;
    for (int from = 0; from < words.length; from += stride) {
      if (words[from] != 0) {
        int slot = hash(words, from) & other.mask;
        while (other.words[slot * stride] != 0 && !isKeyEqual(other, slot, from)) {
          slot = slot + 1 & other.mask;
        }
        count += other.words[slot * stride] != 0 && isValueEqual(other, slot, from) ? 1 : 0;
      }
    }
    return count;
  }

  private boolean isKeyEqual(DesiredEntries other, int slot, int from) {
    return Arrays.equals(
        words,
        from + 1,
        from + 1 + keyWords,
        other.words,
        slot * stride + 1,
        slot * stride + 1 + keyWords);
  }

  private boolean isValueEqual(DesiredEntries other, int slot, int from) {
    final int own = from + 1 + keyWords;
    final int others = slot * stride + 1 + keyWords;
    return Arrays.equals(words, own, own + valueWords, other.words, others, others + valueWords);
  }

  /** Begins a round: no entry is seen yet. */
  void beginRound() {
    round++;
    seen = 0;
  }

  /** Compares an entry of the kernel, and marks the desired entry of its key. */
  Found compare(DirectBuffer key, DirectBuffer value) {
    final int slot = find(key);
    if (slot < 0) {
      return Found.NOT_DESIRED;
    }
    if (words[slot * stride] != round) {
      words[slot * stride] = round;
      seen++;
    }
    return isValueOf(slot, value) ? Found.EQUAL : Found.OTHER_VALUE;
  }

  private boolean isValueOf(int slot, DirectBuffer value) {
    for (int i = 0; i < valueWords; i++) {
      if (words[slot * stride + 1 + keyWords + i] != value.getInt(i * Integer.BYTES)) {
        return false;
      }
    }
    return true;
  }

  /** Returns whether the round has seen all entries. */
  boolean isComplete() {
    return seen == size;
  }

  /** Returns the number of slots, which the table may grow later. */
  int slots() {
    return mask + 1;
  }

  /** Copies the entry of a slot that the round has not seen; returns false for other slots. */
  boolean copyUnseen(int slot, MutableDirectBuffer key, MutableDirectBuffer value) {
    if (words[slot * stride] == 0 || words[slot * stride] == round) {
      return false;
    }
    for (int i = 0; i < keyWords; i++) {
      key.putInt(i * Integer.BYTES, words[slot * stride + 1 + i]);
    }
    copyValue(slot, value);
    return true;
  }

  /** Copies the desired value of a key that {@link #compare} has found. */
  void copyValue(DirectBuffer key, MutableDirectBuffer value) {
    copyValue(find(key), value);
  }

  private void copyValue(int slot, MutableDirectBuffer value) {
    for (int i = 0; i < valueWords; i++) {
      value.putInt(i * Integer.BYTES, words[slot * stride + 1 + keyWords + i]);
    }
  }

  /** Returns the slot of a key, or the complement of the empty slot for it. */
  private int find(DirectBuffer key) {
    int hash = 0;
    for (int i = 0; i < keyWords; i++) {
      hash = (hash ^ key.getInt(i * Integer.BYTES)) * FACTOR;
      hash ^= hash >>> 15;
    }
    int slot = hash & mask;
    while (words[slot * stride] != 0) {
      if (isKeyOf(slot, key)) {
        return slot;
      }
      slot = slot + 1 & mask;
    }
    return ~slot;
  }

  private boolean isKeyOf(int slot, DirectBuffer key) {
    for (int i = 0; i < keyWords; i++) {
      if (words[slot * stride + 1 + i] != key.getInt(i * Integer.BYTES)) {
        return false;
      }
    }
    return true;
  }

  /** Returns the slot in which the search for the key of an entry begins. */
  private int home(int[] entries, int from) {
    return hash(entries, from) & mask;
  }

  private int hash(int[] entries, int from) {
    int hash = 0;
    for (int i = 0; i < keyWords; i++) {
      hash = (hash ^ entries[from + 1 + i]) * FACTOR;
      hash ^= hash >>> 15;
    }
    return hash;
  }

  private void grow() {
    final int[] before = words;
    words = new int[Math.multiplyExact(before.length, 2)];
    mask = 2 * mask + 1;
    for (int from = 0; from < before.length; from += stride) {
      if (before[from] != 0) {
        insert(before, from);
      }
    }
  }

  private void insert(int[] before, int from) {
    int slot = home(before, from);
    while (words[slot * stride] != 0) {
      slot = slot + 1 & mask;
    }
    System.arraycopy(before, from, words, slot * stride, stride);
  }
}
