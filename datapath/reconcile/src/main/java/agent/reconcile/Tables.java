package agent.reconcile;

import java.util.ArrayList;
import java.util.List;
import org.agrona.collections.IntArrayList;

/**
 * The tables of a reconciler by number, and rows of any of them as one number. The number of a
 * removed table is used again after the change that was realized meanwhile.
 */
final class Tables {
  private final List<DesiredTable> tables = new ArrayList<>();
  private final IntArrayList removed = new IntArrayList();
  private final IntArrayList free = new IntArrayList();
  private final RefusedEntries refused;
  private int highestRank;

  Tables(RefusedEntries refused) {
    this.refused = refused;
  }

  void add(DesiredTable table) {
    table.publish(refused);
    if (free.isEmpty()) {
      table.number(tables.size());
      tables.add(table);
    } else {
      table.number(free.removeAt(free.size() - 1));
      tables.set(table.number(), table);
    }
    highestRank = Math.max(highestRank, table.rank());
  }

  void remove(DesiredTable table) {
    tables.set(indexOf(table), null);
    removed.addInt(table.number());
    table.number(-1);
    refused.removeAll(table);
  }

  /** Frees the numbers of removed tables, which no change has any more. */
  void recycle() {
    for (int i = 0; i < removed.size(); i++) {
      free.addInt(removed.getInt(i));
    }
    removed.clear();
  }

  /** Returns the number of tables, with those that were removed. */
  int size() {
    return tables.size();
  }

  /** Returns a table, or null where it was removed. */
  DesiredTable get(int index) {
    return tables.get(index);
  }

  /** Returns the number of a table. */
  int indexOf(DesiredTable table) {
    if (table.number() < 0) {
      throw new IllegalArgumentException("table of map " + table.map().name());
    }
    return table.number();
  }

  /** Returns whether the entries of the previous run are known, and none is desired any more. */
  boolean haveNoRestored() {
    for (int i = 0; i < tables.size(); i++) {
      final DesiredTable table = tables.get(i);
      if (table != null && (!table.isAdopted() || table.hasRestored())) {
        return false;
      }
    }
    return true;
  }

  /** Returns the highest rank. */
  int highestRank() {
    return highestRank;
  }

  static long pack(int table, int row) {
    return (long) table << Integer.SIZE | row;
  }

  /** Returns the table of a row, or null where it was removed. */
  DesiredTable tableOf(long packed) {
    return tables.get((int) (packed >>> Integer.SIZE));
  }

  static int rowOf(long packed) {
    return (int) packed;
  }
}
