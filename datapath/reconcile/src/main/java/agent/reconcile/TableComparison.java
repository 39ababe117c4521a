package agent.reconcile;

import agent.bindings.Errno;
import org.agrona.DirectBuffer;
import org.agrona.MutableDirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * Compares a map with what a table knows that it holds, in slices of one batch, and repairs each
 * difference in the slice that finds it; or reads into the table what the map holds, and repairs
 * nothing. An entry whose write is still to come is no difference. What the reconciler writes does
 * not restart the walk: an entry is deleted only after the walk has passed it, because the kernel
 * walks a trie from its start again where the last key is gone.
 */
final class TableComparison implements MapComparison {
  private static final int ENTRIES_PER_STEP = 64;

  private enum Phase {
    IDLE,
    WALK,
    MISSING
  }

  private final DesiredTable table;
  private final TargetMap map;
  private final UnsafeBuffer position;
  private final UnsafeBuffer foreign;
  private UnsafeBuffer foreignValue; // from the first one on
  private Phase phase = Phase.IDLE;
  private boolean isReported;
  private boolean isReading;
  private int round;
  private long begunRevision;
  private boolean hasPosition;
  private boolean hasForeign;
  private int nextRow;
  private int missing;
  private int notDesired;
  private int otherValue;
  private String first;
  private RuntimeException failure;

  TableComparison(DesiredTable table) {
    this.table = table;
    map = table.map();
    position = OffHeap.allocate(map.keyBytes());
    foreign = OffHeap.allocate(map.keyBytes());
  }

  @Override
  public boolean isRunning() {
    return phase != Phase.IDLE;
  }

  @Override
  public boolean isReported() {
    return isReported;
  }

  @Override
  public String name() {
    return map.name();
  }

  @Override
  public MapFaults faults() {
    return table.faults();
  }

  @Override
  public boolean beginReported() {
    if (!table.isAdopted() || isRunning()) {
      return false;
    }
    begin(true);
    return true;
  }

  @Override
  public void onRepaired() {
    table.realization().onRepaired();
  }

  /** Begins a comparison, and gives up the one in progress. */
  void begin(boolean reports) {
    isReading = false;
    isReported = reports;
    begin();
  }

  /** Begins to read the map, and gives up the comparison in progress. */
  void beginReading() {
    isReading = true;
    isReported = false;
    begin();
  }

  private void begin() {
    round++;
    begunRevision = table.revision();
    hasPosition = false;
    hasForeign = false;
    nextRow = 0;
    missing = 0;
    notDesired = 0;
    otherValue = 0;
    first = null;
    failure = null;
    phase = Phase.WALK;
    final int result = map.beginWalk();
    if (result < 0) {
      fail(map.failure("walk", "all", result));
    }
  }

  @Override
  public boolean step() {
    final Phase before = phase;
    if (phase == Phase.WALK) {
      walk();
    } else if (phase == Phase.MISSING) {
      findMissing();
    }
    return isRunning() && phase == before;
  }

  @Override
  public void abandon() {
    map.endWalk();
    phase = Phase.IDLE;
  }

  @Override
  public int repaired() {
    return missing + notDesired + otherValue;
  }

  @Override
  public RuntimeException failure() {
    return failure;
  }

  @Override
  public String found() {
    return "%d entries missing, %d unexpected, %d with a wrong value; first: %s"
        .formatted(missing, notDesired, otherValue, first);
  }

  /** Moves the walk on where it stands at an entry that is to be deleted. */
  void beforeDelete(DirectBuffer key) {
    if (phase == Phase.WALK && hasPosition && OffHeap.areEqual(position, 0, key, map.keyBytes())) {
      walk();
    }
  }

  private void walk() {
    int compared = 0;
    while (compared < ENTRIES_PER_STEP && phase == Phase.WALK) {
      if (!map.nextBatch()) {
        endWalk();
        return;
      }
      while (phase == Phase.WALK && map.nextOfBatch()) {
        position.putBytes(0, map.key(), 0, map.keyBytes());
        hasPosition = true;
        compare(map.key(), map.value());
        compared++;
      }
      compared += map.batchCost();
    }
  }

  /** A walk that others restart again and again has seen a part: what is missing is not known. */
  private void endWalk() {
    deleteForeign();
    final int error = map.walkError();
    if (error < 0 && (isReading || error != -Errno.EAGAIN)) {
      fail(map.failure("walk", "all", error));
    } else if (error < 0) {
      abandon();
    } else if (phase == Phase.WALK) {
      map.endWalk();
      phase = Phase.MISSING;
    }
  }

  private void compare(MutableDirectBuffer key, DirectBuffer value) {
    if (isReading) {
      table.found(key, value, round);
      return;
    }
    deleteForeign();
    final int row = table.find(key);
    if (row >= 0) {
      table.round(row, round);
      if (!table.isRealized(row)) {
        return;
      }
    }
    final DirectBuffer held = row < 0 ? null : table.held(row);
    if (held == null) {
      foreignValue = foreignValue == null ? OffHeap.allocate(map.valueBytes()) : foreignValue;
      foreign.putBytes(0, key, 0, map.keyBytes());
      foreignValue.putBytes(0, value, 0, map.valueBytes());
      hasForeign = true;
    } else if (!OffHeap.areEqual(held, 0, value, map.valueBytes())) {
      repaired(row, map.update(key, held), key, value, held);
    } else {
      settle(row, held);
    }
  }

  /** Ends the refusal of a row whose value the map holds. */
  private void settle(int row, DirectBuffer held) {
    if (!table.isSettled(row)) {
      table.written(row, held);
    }
  }

  /** Deletes the last entry that was found and is not desired, which the walk has passed now. */
  private void deleteForeign() {
    if (hasForeign) {
      hasForeign = false;
      final int row = table.find(foreign);
      if (row < 0 || table.isRealized(row) && table.held(row) == null) {
        repaired(row, map.delete(foreign), foreign, foreignValue, null);
      }
    }
  }

  private void findMissing() {
    final int end = Math.min(table.rows(), nextRow + Reconciler.ROWS_PER_STEP);
    for (; nextRow < end && phase == Phase.MISSING; nextRow++) {
      if (isReading) {
        forgetUnlessFound(nextRow);
      } else if (isMissing(nextRow)) {
        final MutableDirectBuffer key = table.key(nextRow);
        final MutableDirectBuffer held = table.held(nextRow);
        repaired(nextRow, map.insert(key, held), key, null, held);
      }
    }
    if (phase == Phase.MISSING && nextRow >= table.rows()) {
      phase = Phase.IDLE;
    }
  }

  private void forgetUnlessFound(int row) {
    if (table.isUsed(row) && table.round(row) != round) {
      table.notFound(row);
    }
  }

  /** What has changed since the comparison began may have come behind the walk. */
  private boolean isMissing(int row) {
    return table.isUsed(row)
        && table.round(row) != round
        && table.revision(row) <= begunRevision
        && table.held(row) != null
        && table.isRealized(row);
  }

  /**
   * Counts a repair that has changed the map; an entry may have come or gone before it. A refused
   * one is also a refused write of the row, until the map is seen with what the row has.
   *
   * @param row the row of the entry, where it is desired
   * @param found the value that the map held, or null
   * @param held the value that it holds again, or null
   */
  private void repaired(
      int row, int result, MutableDirectBuffer key, DirectBuffer found, DirectBuffer held) {
    if (result == -Errno.EEXIST || result == -Errno.ENOENT) {
      return;
    }
    if (result < 0) {
      if (held != null) {
        table.refused(row, -result);
      }
      fail(map.failure("repair", map.text(key), result));
      return;
    }
    final String kind;
    if (found == null) {
      missing++;
      kind = "missing";
    } else if (held == null) {
      notDesired++;
      kind = "unexpected";
    } else {
      otherValue++;
      kind = "wrong value";
    }
    if (first == null) {
      first = kind + " (" + map.text(key) + ")";
    }
    if (held != null) {
      settle(row, held);
    }
    table.realization().onEntryRepaired(key, found, held);
  }

  private void fail(RuntimeException cause) {
    failure = cause;
    abandon();
  }
}
