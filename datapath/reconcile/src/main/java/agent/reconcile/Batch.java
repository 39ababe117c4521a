package agent.reconcile;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import org.agrona.DirectBuffer;
import org.agrona.collections.LongArrayList;

/**
 * The changes that the reconciler realizes now: additions in the order in which they were made,
 * those to tables of a lower rank first, then removals, in the opposite order of ranks. Reused. For
 * the reconciler's thread.
 */
public final class Batch {
  private final Tables tables;

  /** By the rank of the table. */
  private final List<LongArrayList> additions = new ArrayList<>();

  private final LongArrayList removals = new LongArrayList();
  private final RefusedRows refused;

  /** The numbers of the tables for which each is asked. */
  private final BitSet read = new BitSet();

  private final BitSet reviewed = new BitSet();
  private final BitSet compared = new BitSet();
  private final BitSet relieved = new BitSet();
  private int applied;

  Batch(Tables tables, RefusedRows refused) {
    this.tables = tables;
    this.refused = refused;
  }

  /** Puts the entry of a source; owners may tell who may remove it. */
  public void put(DesiredTable table, int source, int owner, DirectBuffer key, DirectBuffer value) {
    applied++;
    note(table, table.put(source, owner, key, value));
  }

  /** Removes the entry of a source, unless another owner has put one there since. */
  public void remove(DesiredTable table, int source, int owner, DirectBuffer key) {
    applied++;
    note(table, table.remove(source, owner, key));
  }

  /** Notes a row whose entry differs from that of the map; -1 is none. */
  void note(DesiredTable table, int row) {
    if (row >= 0) {
      (table.isWanted(row) ? additions(table.rank()) : removals)
          .addLong(Tables.pack(tables.indexOf(table), row));
    }
  }

  /** Looks the table through for entries whose refined value has changed. */
  public void review(DesiredTable table) {
    reviewed.set(tables.indexOf(table));
  }

  /**
   * Declares that a source has put all its entries: those of the previous run end with the last.
   */
  public void complete(DesiredTable table, int source) {
    table.complete(source);
    relieve(table);
  }

  /** Ends the entries of the previous run once each source has put all its entries. */
  void relieve(DesiredTable table) {
    relieved.set(tables.indexOf(table));
  }

  /** Compares the whole map with the table, before the changes count as being in force. */
  public void compare(DesiredTable table) {
    compared.set(tables.indexOf(table));
  }

  /**
   * Reads what the map holds, before anything of this round is written. The table desires nothing
   * of it by that.
   */
  public void read(DesiredTable table) {
    read.set(tables.indexOf(table));
  }

  /**
   * Returns why an entry of a table was not written in this round, or why its map could not be
   * read; null where neither is so.
   */
  public RuntimeException refusal(DesiredTable table) {
    final RuntimeException refusal = refused.of(table);
    return refusal == null && read.get(tables.indexOf(table))
        ? table.comparison().failure()
        : refusal;
  }

  /**
   * Begins anew, without changes.
   *
   * @param reviewsAll whether a change before was not completed
   */
  void begin(boolean reviewsAll) {
    read.clear();
    compared.clear();
    relieved.clear();
    reviewed.clear();
    if (reviewsAll) {
      reviewed.set(0, tables.size());
      relieved.set(0, tables.size());
    }
    additions.forEach(LongArrayList::clear);
    removals.clear();
    applied = 0;
  }

  /** Returns the number of entries that were put or removed. */
  int applied() {
    return applied;
  }

  /** Returns the additions to tables of a rank. */
  LongArrayList additions(int rank) {
    while (additions.size() <= rank) {
      additions.add(new LongArrayList());
    }
    return additions.get(rank);
  }

  LongArrayList removals() {
    return removals;
  }

  /** Returns the numbers of the tables whose maps are read. */
  BitSet read() {
    return read;
  }

  BitSet reviewed() {
    return reviewed;
  }

  BitSet compared() {
    return compared;
  }

  /** Returns the numbers of the tables whose entries of the previous run may end now. */
  BitSet relieved() {
    return relieved;
  }
}
