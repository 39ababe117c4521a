package agent.datapath.manager.guard;

import java.util.Arrays;
import org.agrona.DirectBuffer;
import org.agrona.MutableDirectBuffer;

/**
 * The desired entries of one map: they lie one behind the other in parts of {@value #PART}, and a
 * hash table of 6 to 12 bytes an entry has their numbers, so that growing copies the numbers alone.
 * A slot has as much of the hash beside the number as fits: a search reads no entry of another
 * hash. A comparison with the kernel marks the entries that it has seen in its round; what is put
 * during a round counts as seen. Allocates only when it grows, or is much smaller than it was. For
 * the conductor's thread.
 */
public final class DesiredEntries {
  /** What {@link #compare} found. */
  enum Found {
    EQUAL,
    OTHER_VALUE,
    NOT_DESIRED
  }

  private static final int SMALLEST = 8;
  private static final int PART_BITS = 12;
  private static final int PART = 1 << PART_BITS;
  private static final int FACTOR = 0x9E3779B1;

  /** Slots beyond so many an entry are given up: a table that grows leaves 3 of them. */
  private static final int MOST_SLOTS = 12;

  private final int keyWords;
  private final int valueWords;
  private final int stride;
  private int[][] parts; // the first word of an entry is the round of its mark
  private int[] numbers; // of entries, from 1, and the hash beyond the mask; 0 is an empty slot
  private int mask; // of the slots, whose number is greater than that of any entry
  private int size;
  private int seen;
  private int round = 1;

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
    parts = new int[][] {new int[SMALLEST * stride]};
    numbers = new int[SMALLEST];
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
    int slot = find(key);
    if (slot < 0) {
      if ((size + 1) * 3 > (mask + 1) * 2) {
        resizeNumbers(2 * numbers.length);
        slot = find(key);
      }
      append(~slot, key);
    } else if (isValueOf(entryIn(slot), value)) {
      return false;
    }
    final int entry = slot < 0 ? size - 1 : entryIn(slot);
    final int[] words = part(entry);
    final int at = at(entry) + 1 + keyWords;
    for (int i = 0; i < valueWords; i++) {
      words[at + i] = value.getInt(i * Integer.BYTES);
    }
    return true;
  }

  private void append(int slot, DirectBuffer key) {
    final int entry = size++;
    growParts(entry);
    final int[] words = part(entry);
    final int at = at(entry);
    words[at] = round;
    seen++;
    for (int i = 0; i < keyWords; i++) {
      words[at + 1 + i] = key.getInt(i * Integer.BYTES);
    }
    numbers[slot] = hash(entry) & ~mask | entry + 1;
  }

  private int entryIn(int slot) {
    return (numbers[slot] & mask) - 1;
  }

  /** Returns whether the entry of a slot can have a hash. */
  private boolean hasHash(int slot, int hash) {
    return ((numbers[slot] ^ hash) & ~mask) == 0;
  }

  /** Removes the entry of a key, if there is one. */
  public void remove(DirectBuffer key) {
    final int slot = find(key);
    if (slot < 0) {
      return;
    }
    final int entry = entryIn(slot);
    seen -= part(entry)[at(entry)] == round ? 1 : 0;
    free(slot);
    size--;
    if (entry != size) {
      final int moved = slotOf(size);
      numbers[moved] = numbers[moved] & ~mask | entry + 1;
      System.arraycopy(part(size), at(size), part(entry), at(entry), stride);
    }
    shrink();
  }

  /** Frees what so few entries do not need; half a part stays, so that they may come and go. */
  private void shrink() {
    final int needed = (size + PART / 2 >>> PART_BITS) + 1;
    if (parts.length > needed) {
      parts = Arrays.copyOf(parts, needed);
    } else if (parts.length == 1
        && parts[0].length > SMALLEST * stride
        && 4 * size * stride <= parts[0].length) {
      parts[0] = Arrays.copyOf(parts[0], parts[0].length / 2);
    }
    if (numbers.length > SMALLEST && MOST_SLOTS * size < numbers.length) {
      resizeNumbers(numbers.length / 2);
    }
  }

  /** Returns the memory of the table, in words of 4 bytes. */
  long heldWords() {
    long words = numbers.length;
    for (final int[] part : parts) {
      words += part.length;
    }
    return words;
  }

  /** Empties a slot; those behind it that a search would no longer find move up. */
  private void free(int slot) {
    int hole = slot;
    for (int next = hole + 1 & mask; numbers[next] != 0; next = next + 1 & mask) {
      final int home = hash(entryIn(next)) & mask;
      final boolean stays =
          hole <= next ? hole < home && home <= next : hole < home || home <= next;
      if (!stays) {
        numbers[hole] = numbers[next];
        hole = next;
      }
    }
    numbers[hole] = 0;
  }

  private int slotOf(int entry) {
    int slot = hash(entry) & mask;
    while (entryIn(slot) != entry) {
      slot = slot + 1 & mask;
    }
    return slot;
  }

  /** Returns the number of entries. */
  public int size() {
    return size;
  }

  /** Returns whether there is an entry of a key. */
  public boolean hasKey(DirectBuffer key) {
    return find(key) >= 0;
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
    final int entry = entryIn(slot);
    final int[] words = part(entry);
    if (words[at(entry)] != round) {
      words[at(entry)] = round;
      seen++;
    }
    return isValueOf(entry, value) ? Found.EQUAL : Found.OTHER_VALUE;
  }

  private boolean isValueOf(int entry, DirectBuffer value) {
    final int[] words = part(entry);
    final int at = at(entry) + 1 + keyWords;
    for (int i = 0; i < valueWords; i++) {
      if (words[at + i] != value.getInt(i * Integer.BYTES)) {
        return false;
      }
    }
    return true;
  }

  /** Returns whether the round has seen all entries. */
  boolean isComplete() {
    return seen == size;
  }

  /** Copies an entry, by its number from 0, that the round has not seen; false for another one. */
  boolean copyUnseen(int entry, MutableDirectBuffer key, MutableDirectBuffer value) {
    final int[] words = part(entry);
    final int at = at(entry);
    if (words[at] == round) {
      return false;
    }
    for (int i = 0; i < keyWords; i++) {
      key.putInt(i * Integer.BYTES, words[at + 1 + i]);
    }
    copyValue(entry, value);
    return true;
  }

  /** Copies the desired value of a key that {@link #compare} has found. */
  void copyValue(DirectBuffer key, MutableDirectBuffer value) {
    copyValue(entryIn(find(key)), value);
  }

  private void copyValue(int entry, MutableDirectBuffer value) {
    final int[] words = part(entry);
    final int at = at(entry) + 1 + keyWords;
    for (int i = 0; i < valueWords; i++) {
      value.putInt(i * Integer.BYTES, words[at + i]);
    }
  }

  private int[] part(int entry) {
    return parts[entry >>> PART_BITS];
  }

  private int at(int entry) {
    return (entry & PART - 1) * stride;
  }

  /** Returns the slot of a key, or the complement of the empty slot for it. */
  private int find(DirectBuffer key) {
    int hash = 0;
    for (int i = 0; i < keyWords; i++) {
      hash = (hash ^ key.getInt(i * Integer.BYTES)) * FACTOR;
      hash ^= hash >>> 15;
    }
    int slot = hash & mask;
    while (numbers[slot] != 0) {
      if (hasHash(slot, hash) && isKeyOf(entryIn(slot), key)) {
        return slot;
      }
      slot = slot + 1 & mask;
    }
    return ~slot;
  }

  private boolean isKeyOf(int entry, DirectBuffer key) {
    final int[] words = part(entry);
    final int at = at(entry) + 1;
    for (int i = 0; i < keyWords; i++) {
      if (words[at + i] != key.getInt(i * Integer.BYTES)) {
        return false;
      }
    }
    return true;
  }

  private int hash(int entry) {
    final int[] words = part(entry);
    final int at = at(entry) + 1;
    int hash = 0;
    for (int i = 0; i < keyWords; i++) {
      hash = (hash ^ words[at + i]) * FACTOR;
      hash ^= hash >>> 15;
    }
    return hash;
  }

  /** Makes room for one more entry: the first part doubles, the others are whole. */
  private void growParts(int entry) {
    if (entry < PART) {
      if (at(entry) == parts[0].length) {
        parts[0] = Arrays.copyOf(parts[0], 2 * parts[0].length);
      }
    } else if (entry >>> PART_BITS == parts.length) {
      parts = Arrays.copyOf(parts, parts.length + 1);
      parts[entry >>> PART_BITS] = new int[PART * stride];
    }
  }

  private void resizeNumbers(int slots) {
    numbers = new int[slots];
    mask = numbers.length - 1;
    for (int entry = 0; entry < size; entry++) {
      final int hash = hash(entry);
      int slot = hash & mask;
      while (numbers[slot] != 0) {
        slot = slot + 1 & mask;
      }
      numbers[slot] = hash & ~mask | entry + 1;
    }
  }
}
