package agent.reconcile;

/** Rows of one table whose entries are staged in its map, to be written together. */
final class StagedRows {
  private int[] rows = new int[0];
  private DesiredTable table;
  private int size;
  private int most;

  /** Returns whether a row of a table can follow those that are staged. */
  boolean isOf(DesiredTable other) {
    return size == 0 || table == other;
  }

  boolean contains(int row) {
    for (int i = 0; i < size; i++) {
      if (rows[i] == row) {
        return true;
      }
    }
    return false;
  }

  /** Stages the desired entry of a row; returns whether there is room for no other one. */
  boolean add(DesiredTable to, int row) {
    if (table != to) {
      table = to;
      most = to.map().batch();
      rows = rows.length < most ? new int[most] : rows;
    }
    to.map().stage(to.key(row), to.staged(row));
    rows[size++] = row;
    return size == most;
  }

  DesiredTable table() {
    return table;
  }

  int size() {
    return size;
  }

  /** Returns a row by its number, also after {@link #clear}, until the next one is staged. */
  int row(int number) {
    return rows[number];
  }

  void clear() {
    size = 0;
  }
}
