package agent.reconcile;

import java.util.Arrays;
import org.agrona.DirectBuffer;
import org.agrona.MutableDirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * The desired entries of one map, by key and source: where several sources have an entry for a key,
 * the one with the highest number wins, and when it is removed, the next one replaces it. Beside
 * them it has what the map was last known to hold, so that only differences are written.
 *
 * <p>Entries that the map held when the agent started stay desired, below all sources, until each
 * source has declared its entries complete, or one of them has changed the key.
 *
 * <p>A row has a key, the value that the map holds, and for each source an owner and a value. Rows
 * lie outside the heap in parts of {@value #PART}, of which the first grows to that, and keep their
 * number; a free one is used again. Allocates only when it grows. For the reconciler's thread.
 */
public final class DesiredTable {
  private static final int PART_BITS = 9;
  private static final int PART = 1 << PART_BITS;
  private static final int SMALLEST_PART = 8;
  private static final int MOST_SOURCES = 7;

  private static final int STATE = 0;
  private static final int ROUND = Integer.BYTES;
  private static final int REVISION = 2 * Integer.BYTES;
  private static final int KEY = REVISION + Long.BYTES;

  /**
   * The lowest bits of a state say which sources have an entry; the first one is the former run.
   */
  private static final int SOURCES = 0xff;

  private static final int RESTORED = 1;
  private static final int WRITTEN = 1 << 8;
  private static final int DEFERRED = 1 << 9;
  private static final int USED = 1 << 10;
  private static final int REFUSED = 1 << 11;

  private final TargetMap map;
  private final MapFaults faults;
  private final int rank;
  private final int sources;
  private final Realization realization;
  private final int keyBytes;
  private final int valueBytes;
  private final int stride;
  private final KeyIndex index = new KeyIndex();
  private final UnsafeBuffer keyView = new UnsafeBuffer(0, 0);
  private final UnsafeBuffer writtenView = new UnsafeBuffer(0, 0);
  private final UnsafeBuffer sourceView = new UnsafeBuffer(0, 0);
  private final UnsafeBuffer wantedView = new UnsafeBuffer(0, 0);
  private final UnsafeBuffer refined;
  private final TableComparison comparison;
  private UnsafeBuffer[] parts = {};
  private int rows;
  private int size;
  private int free = -1;
  private int restored;
  private int complete;
  private long revision;
  private boolean isAdopted;
  private int number = -1;
  private RefusedEntries published;
  private int desired;
  private boolean isTouched;

  /**
   * Creates an empty table.
   *
   * @param map the map that is to hold the entries
   * @param sources the number of sources, from 0 with the lowest precedence
   * @param rank additions to tables of a lower rank come first, and removals from them last:
   *     entries of a higher rank may refer to them
   * @param realization what is done with entries that are written
   * @param faults where faults of the map are reported
   */
  public DesiredTable(
      TargetMap map, int sources, int rank, Realization realization, MapFaults faults) {
    if (sources < 1 || sources > MOST_SOURCES) {
      throw new IllegalArgumentException(sources + " sources");
    }
    this.map = map;
    this.faults = faults;
    this.sources = sources;
    this.rank = rank;
    this.realization = realization;
    keyBytes = map.keyBytes();
    valueBytes = map.valueBytes();
    final int bytes = KEY + keyBytes + valueBytes + sources * (Integer.BYTES + valueBytes);
    stride = bytes + Long.BYTES - 1 & -Long.BYTES;
    refined = OffHeap.allocate(valueBytes);
    comparison = new TableComparison(this);
  }

  TargetMap map() {
    return map;
  }

  MapFaults faults() {
    return faults;
  }

  int rank() {
    return rank;
  }

  Realization realization() {
    return realization;
  }

  TableComparison comparison() {
    return comparison;
  }

  /** Returns whether the entries are known that the map held when the agent started. */
  public boolean isAdopted() {
    return isAdopted;
  }

  /** Notes that the entries are known that the map holds. */
  void adopted() {
    isAdopted = true;
  }

  /** Returns the number of the last change of a row. */
  long revision() {
    return revision;
  }

  /** Returns the number among the tables of the reconciler, or -1. */
  int number() {
    return number;
  }

  void number(int next) {
    number = next;
  }

  /** Sets where other threads read which rows are refused. */
  void publish(RefusedEntries entries) {
    published = entries;
  }

  /** Returns whether an entry of the map was written in this step. */
  boolean isTouched() {
    return isTouched;
  }

  void touched(boolean isTouchedNow) {
    isTouched = isTouchedNow;
  }

  /** Begins to adopt what the map holds. */
  void beginAdoption() {
    final int result = map.beginWalk();
    if (result < 0) {
      throw map.failure("walk", "all", result);
    }
  }

  /** Adopts one batch of entries; returns how much work that was, in changes. */
  int adoptBatch() {
    int taken = 1;
    if (map.nextBatch()) {
      while (map.nextOfBatch()) {
        adopt(map.key(), map.value());
        taken++;
      }
      return taken;
    }
    final int error = map.walkError();
    map.endWalk();
    if (error < 0) {
      throw map.failure("walk", "all", error);
    }
    isAdopted = true;
    return taken;
  }

  /** Adopts an entry that the map holds. */
  void adopt(DirectBuffer key, DirectBuffer value) {
    final int row = rowFor(key);
    if (!has(row, WRITTEN)) {
      written(row, value);
    }
    if ((state(row) & SOURCES) == 0) {
      set(row, RESTORED);
      restored++; // its value is that which the map holds
    }
  }

  /**
   * Puts an entry of a source.
   *
   * @return the row where the map may have to change, or -1
   */
  int put(int source, int owner, DirectBuffer key, DirectBuffer value) {
    final int row = rowFor(key);
    final int at = source(row, source);
    final UnsafeBuffer part = part(row);
    part.putInt(at, owner);
    part.putBytes(at + Integer.BYTES, value, 0, valueBytes);
    set(row, RESTORED << source + 1);
    drop(row);
    return touched(row);
  }

  /**
   * Removes the entry of a source, unless another owner has put one there since.
   *
   * @return the row where the map may have to change, or -1
   */
  int remove(int source, int owner, DirectBuffer key) {
    final int row = find(key);
    if (row < 0) {
      return -1;
    }
    final int bit = RESTORED << source + 1;
    if (has(row, bit)) {
      if (part(row).getInt(source(row, source)) != owner) {
        return -1;
      }
      clear(row, bit);
    }
    drop(row);
    return touched(row);
  }

  private int touched(int row) {
    if (isSettled(row) && !has(row, DEFERRED)) {
      return -1;
    }
    part(row).putLong(at(row) + REVISION, ++revision);
    return row;
  }

  /** Declares the entries of a source complete. */
  void complete(int source) {
    complete |= 1 << source;
  }

  /** Returns whether the entries of all sources are complete. */
  boolean isComplete() {
    return complete == (1 << sources) - 1;
  }

  /** Returns whether entries of the previous run are still desired. */
  public boolean hasRestored() {
    return restored > 0;
  }

  /** Drops a row's entry of the previous run; returns whether there was one. */
  boolean drop(int row) {
    if (!has(row, RESTORED)) {
      return false;
    }
    clear(row, RESTORED);
    restored--;
    return true;
  }

  /** Returns whether the map has room for so many entries that it neither holds nor is to hold. */
  public boolean hasRoomFor(int entries) {
    return size + entries <= map.maxEntries();
  }

  /** Returns the number of rows, with those that are not used. */
  public int rows() {
    return rows;
  }

  /** Returns the number of entries that the map is to hold. */
  public int desired() {
    return desired;
  }

  boolean isUsed(int row) {
    return has(row, USED);
  }

  /** Returns whether a row is used and a source has an entry of this owner for it. */
  public boolean isOf(int row, int source, int owner) {
    return has(row, RESTORED << source + 1) && part(row).getInt(source(row, source)) == owner;
  }

  /** Returns what the map is to hold for a row, or null for nothing; valid until the next call. */
  public MutableDirectBuffer wanted(int row) {
    final int strongest = strongest(row);
    if (strongest < 0) {
      return null;
    }
    wantedView.wrap(part(row), value(row, strongest), valueBytes);
    if (strongest == 0 || realization == Realization.PLAIN) {
      return wantedView;
    }
    refined.putBytes(0, wantedView, 0, valueBytes);
    realization.refine(strongest - 1, key(row), refined);
    return refined;
  }

  /**
   * Returns the value that the strongest source has for a row, as it was put, or null where none
   * has one; valid until the next call.
   */
  public MutableDirectBuffer unrefined(int row) {
    final int strongest = strongest(row);
    if (strongest < 0) {
      return null;
    }
    sourceView.wrap(part(row), value(row, strongest), valueBytes);
    return sourceView;
  }

  /** Returns the bit of the strongest source of a row: 0 is the former run, -1 none. */
  private int strongest(int row) {
    return Integer.SIZE - 1 - Integer.numberOfLeadingZeros(state(row) & SOURCES);
  }

  /** Returns where the value of a source is; that of the former run is what the map holds. */
  private int value(int row, int source) {
    return source == 0 ? at(row) + KEY + keyBytes : source(row, source - 1) + Integer.BYTES;
  }

  /** Returns whether any source has an entry for a row. */
  boolean isWanted(int row) {
    return (state(row) & SOURCES) != 0;
  }

  /** Returns whether the map holds what it is to hold for a row, as far as is known. */
  boolean isRealized(int row) {
    if (!has(row, WRITTEN)) {
      return !isWanted(row);
    }
    final DirectBuffer value = wanted(row);
    return value != null && isWritten(row, value);
  }

  /** Returns whether a row is realized, and its last write or deletion was not refused. */
  boolean isSettled(int row) {
    return !has(row, REFUSED) && isRealized(row);
  }

  /** Returns whether the map is to hold an entry of a key. */
  public boolean wants(DirectBuffer key) {
    final int row = find(key);
    return row >= 0 && isWanted(row);
  }

  /** Returns whether the map is to hold this value for a key. */
  public boolean wants(DirectBuffer key, DirectBuffer value) {
    final int row = find(key);
    final DirectBuffer found = row < 0 ? null : wanted(row);
    return found != null && OffHeap.areEqual(found, 0, value, valueBytes);
  }

  /** Returns whether the map holds an entry of a key, as far as is known. */
  public boolean holds(DirectBuffer key) {
    final int row = find(key);
    return row >= 0 && has(row, WRITTEN);
  }

  /** Returns whether the map holds this value for a key, as far as is known. */
  public boolean holds(DirectBuffer key, DirectBuffer value) {
    final int row = find(key);
    return row >= 0 && has(row, WRITTEN) && isWritten(row, value);
  }

  /** Returns how many desired entries another table of this shape has, too. */
  public int desiredIn(DesiredTable other) {
    int count = 0;
    for (int row = 0; row < rows; row++) {
      final DirectBuffer value = wanted(row);
      count += value != null && other.wants(key(row), value) ? 1 : 0;
    }
    return count;
  }

  /** Makes what the map holds for a row the desired entry of the only source. */
  public void desireHeld(int row) {
    final DirectBuffer value = held(row);
    if (value != null) {
      put(0, 0, key(row), value);
    } else if (isWanted(row)) {
      remove(0, 0, key(row));
      freeUnused(row);
    }
  }

  /** Notes what a walk in a round of comparison has found. */
  void found(DirectBuffer key, DirectBuffer value, int round) {
    final int row = rowFor(key);
    part(row).putBytes(at(row) + KEY + keyBytes, value, 0, valueBytes);
    set(row, WRITTEN);
    round(row, round);
  }

  /** Notes that such a walk has not found a row. */
  void notFound(int row) {
    clear(row, WRITTEN);
    freeUnused(row);
  }

  private boolean isWritten(int row, DirectBuffer value) {
    return OffHeap.areEqual(part(row), at(row) + KEY + keyBytes, value, valueBytes);
  }

  /** Returns the key of a row; valid until the next call. */
  public MutableDirectBuffer key(int row) {
    keyView.wrap(part(row), at(row) + KEY, keyBytes);
    return keyView;
  }

  /** Returns what the map holds for a row, or null; valid until the next call. */
  public MutableDirectBuffer held(int row) {
    if (!has(row, WRITTEN)) {
      return null;
    }
    writtenView.wrap(part(row), at(row) + KEY + keyBytes, valueBytes);
    return writtenView;
  }

  /**
   * Returns the value that is about to be written for a row. Where the map holds none, it is kept
   * in its place, so that {@link #realized(int)} need not find it out once more.
   */
  MutableDirectBuffer staged(int row) {
    final MutableDirectBuffer value = wanted(row);
    if (!has(row, WRITTEN)) {
      part(row).putBytes(at(row) + KEY + keyBytes, value, 0, valueBytes);
    }
    return value;
  }

  /** Notes that the value of {@link #staged} was written to the map. */
  void realized(int row) {
    if (has(row, WRITTEN)) {
      realized(row, wanted(row));
    } else {
      writtenView.wrap(part(row), at(row) + KEY + keyBytes, valueBytes);
      realization.onWritten(key(row), null, writtenView);
      held(row, state(row));
    }
  }

  /** Notes that a value was written to the map for a row. */
  void realized(int row, MutableDirectBuffer value) {
    realization.onWritten(key(row), held(row), value);
    written(row, value);
  }

  /** Notes what the map holds now for a row. */
  void written(int row, DirectBuffer value) {
    part(row).putBytes(at(row) + KEY + keyBytes, value, 0, valueBytes);
    held(row, state(row));
  }

  private void held(int row, int state) {
    settled(row, state);
    part(row).putInt(at(row) + STATE, (state | WRITTEN) & ~REFUSED);
  }

  /** Notes that the map holds nothing for a row. */
  void deleted(int row) {
    settled(row, state(row));
    clear(row, WRITTEN | REFUSED);
  }

  private void settled(int row, int state) {
    if ((state & REFUSED) != 0) {
      published.remove(this, row);
    }
  }

  /** Notes that the map has refused a write of a row. */
  void refused(int row, int errno) {
    set(row, REFUSED);
    published.add(this, row, errno);
  }

  boolean isDeferred(int row) {
    return has(row, DEFERRED);
  }

  /** Notes whether the write of a row is to be retried; such a row is not freed. */
  void deferred(int row, boolean isDeferred) {
    change(row, isDeferred ? state(row) | DEFERRED : state(row) & ~DEFERRED);
  }

  /** Frees a row that no source has and the map does not hold, unless it is to be retried. */
  void freeUnused(int row) {
    if (state(row) == USED) {
      index.remove(KeyIndex.hash(key(row), keyBytes), row);
      part(row).putInt(at(row) + STATE, 0);
      part(row).putInt(at(row) + ROUND, free);
      free = row;
      size--;
    }
  }

  /** Returns the round of comparison in which the map was last seen to hold a row. */
  int round(int row) {
    return part(row).getInt(at(row) + ROUND);
  }

  void round(int row, int round) {
    part(row).putInt(at(row) + ROUND, round);
  }

  /** Returns the number of the change that last touched a row. */
  long revision(int row) {
    return part(row).getLong(at(row) + REVISION);
  }

  /** Returns the row of a key, or -1. */
  public int find(DirectBuffer key) {
    return find(key, KeyIndex.hash(key, keyBytes));
  }

  private int find(DirectBuffer key, int hash) {
    int row = index.first(hash);
    while (row >= 0 && !OffHeap.areEqual(part(row), at(row) + KEY, key, keyBytes)) {
      row = index.next();
    }
    return row;
  }

  private int rowFor(DirectBuffer key) {
    final int hash = KeyIndex.hash(key, keyBytes);
    final int found = find(key, hash);
    if (found >= 0) {
      return found;
    }
    final int row = free >= 0 ? freedRow() : newRow();
    part(row).putInt(at(row) + STATE, USED);
    part(row).putBytes(at(row) + KEY, key, 0, keyBytes);
    index.add(hash, row);
    size++;
    return row;
  }

  private int freedRow() {
    final int row = free;
    free = round(row);
    part(row).setMemory(at(row), stride, (byte) 0);
    return row;
  }

  /** Returns a row behind all others, of zeros. */
  private int newRow() {
    final int row = rows;
    if (row >>> PART_BITS == parts.length) {
      parts = Arrays.copyOf(parts, parts.length + 1);
      parts[parts.length - 1] = OffHeap.allocate((row == 0 ? SMALLEST_PART : PART) * stride);
    } else if (at(row) == part(row).capacity()) {
      final UnsafeBuffer former = parts[0];
      parts[0] = OffHeap.allocate(2 * former.capacity());
      parts[0].putBytes(0, former, 0, former.capacity());
    }
    rows++;
    return row;
  }

  private int source(int row, int number) {
    return at(row) + KEY + keyBytes + valueBytes + number * (Integer.BYTES + valueBytes);
  }

  private int state(int row) {
    return part(row).getInt(at(row) + STATE);
  }

  private boolean has(int row, int bit) {
    return (state(row) & bit) != 0;
  }

  private void set(int row, int bit) {
    change(row, state(row) | bit);
  }

  private void clear(int row, int bit) {
    change(row, state(row) & ~bit);
  }

  private void change(int row, int state) {
    desired += ((state & SOURCES) == 0 ? 0 : 1) - (isWanted(row) ? 1 : 0);
    part(row).putInt(at(row) + STATE, state);
  }

  private UnsafeBuffer part(int row) {
    return parts[row >>> PART_BITS];
  }

  private int at(int row) {
    return (row & PART - 1) * stride;
  }
}
