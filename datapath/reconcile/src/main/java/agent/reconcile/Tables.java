package agent.reconcile;

import java.util.ArrayList;
import java.util.List;

/** The tables of a reconciler by number, and rows of any of them as one number. */
final class Tables {
  private final List<DesiredTable> tables = new ArrayList<>();

  void add(DesiredTable table) {
    tables.add(table);
  }

  int size() {
    return tables.size();
  }

  DesiredTable get(int index) {
    return tables.get(index);
  }

  /** Returns the number of a table. */
  int indexOf(DesiredTable table) {
    for (int i = 0; i < tables.size(); i++) {
      if (tables.get(i) == table) {
        return i;
      }
    }
    throw new IllegalArgumentException("table of map " + table.map().name());
  }

  /** Returns the highest rank. */
  int highestRank() {
    int highest = 0;
    for (int i = 0; i < tables.size(); i++) {
      highest = Math.max(highest, tables.get(i).rank());
    }
    return highest;
  }

  static long pack(int table, int row) {
    return (long) table << Integer.SIZE | row;
  }

  DesiredTable tableOf(long packed) {
    return tables.get((int) (packed >>> Integer.SIZE));
  }

  static int rowOf(long packed) {
    return (int) packed;
  }
}
