package agent.reconcile;

import org.agrona.DirectBuffer;
import org.agrona.collections.LongArrayList;

/**
 * The changes that the reconciler realizes now: additions in the order in which they were made,
 * those to tables of a lower rank first, then removals, in the opposite order of ranks. Reused. For
 * the reconciler's thread.
 */
public final class Batch {
  private final Tables tables;
  private final LongArrayList additions = new LongArrayList();
  private final LongArrayList removals = new LongArrayList();
  private boolean[] reviewed = {};
  private boolean[] compared = {};
  private boolean[] relieved = {};

  Batch(Tables tables) {
    this.tables = tables;
  }

  /** Puts the entry of a source; owners may tell who may remove it. */
  public void put(DesiredTable table, int source, int owner, DirectBuffer key, DirectBuffer value) {
    note(table, table.put(source, owner, key, value));
  }

  /** Removes the entry of a source, unless another owner has put one there since. */
  public void remove(DesiredTable table, int source, int owner, DirectBuffer key) {
    note(table, table.remove(source, owner, key));
  }

  /** Notes a row whose entry differs from that of the map; -1 is none. */
  void note(DesiredTable table, int row) {
    if (row >= 0) {
      (table.isWanted(row) ? additions : removals).addLong(Tables.pack(tables.indexOf(table), row));
    }
  }

  /** Looks the table through for entries whose refined value has changed. */
  public void review(DesiredTable table) {
    reviewed[tables.indexOf(table)] = true;
  }

  /**
   * Declares that a source has put all its entries: those of the previous run end with the last.
   */
  public void complete(DesiredTable table, int source) {
    if (table.complete(source)) {
      relieved[tables.indexOf(table)] = true;
    }
  }

  /** Compares the whole map with the table, before the changes count as being in force. */
  public void compare(DesiredTable table) {
    compared[tables.indexOf(table)] = true;
  }

  /** Begins anew, without changes. */
  void begin(boolean reviewsAll) {
    final int count = tables.size();
    if (reviewed.length != count) {
      reviewed = new boolean[count];
      compared = new boolean[count];
      relieved = new boolean[count];
    }
    for (int i = 0; i < count; i++) {
      reviewed[i] = reviewsAll;
      compared[i] = false;
      relieved[i] = false;
    }
    additions.clear();
    removals.clear();
  }

  LongArrayList additions() {
    return additions;
  }

  LongArrayList removals() {
    return removals;
  }

  boolean isReviewed(int table) {
    return reviewed[table];
  }

  boolean isCompared(int table) {
    return compared[table];
  }

  /** Returns whether entries of the previous run end with this batch. */
  boolean isRelieved(int table) {
    return relieved[table];
  }
}
