package agent.reconcile;

import java.util.Arrays;
import org.agrona.collections.IntArrayQueue;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * The rows whose writes were refused, or are held back behind such a one: those of each table in
 * their order. A table that refuses again does not hold up the others, but for those that may refer
 * to it.
 */
final class RefusedRows {
  private static final Logger LOGGER = LogManager.getLogger(RefusedRows.class);
  private static final int NO_ROW = -1;

  private final Tables tables;

  /** Per table, its rows, the first refusal in the present round, and whether it refuses again. */
  private IntArrayQueue[] rows = {};

  private RuntimeException[] refusals = {};
  private boolean[] again = {};
  private int size;
  private boolean isAnyRefused;
  private int rank;
  private int retried;

  RefusedRows(Tables tables) {
    this.tables = tables;
  }

  boolean isEmpty() {
    return size == 0;
  }

  /** Begins a round of a change, in which nothing is refused yet. */
  void beginRound() {
    if (isAnyRefused) {
      Arrays.fill(refusals, null);
      isAnyRefused = false;
    }
  }

  /** Returns the first refusal of a table in this round, or null. */
  RuntimeException of(DesiredTable table) {
    final int index = tables.indexOf(table);
    return index < refusals.length ? refusals[index] : null;
  }

  /**
   * Returns the refusal in this round that a write is not to overtake, or null: one of the same
   * table, unless its realization lets the write pass, and one of a table that a new entry may
   * refer to.
   */
  RuntimeException before(DesiredTable table, int row) {
    if (!isAnyRefused) {
      return null;
    }
    for (int i = 0; i < refusals.length; i++) {
      if (refusals[i] != null
          && tables.get(i) != null
          && (tables.get(i) == table
              ? !table.realization().mayOvertake(table.held(row), table.wanted(row))
              : tables.get(i).rank() < table.rank() && table.isWanted(row))) {
        return refusals[i];
      }
    }
    return null;
  }

  /** Adds a row. */
  void add(DesiredTable table, int row, RuntimeException refusal) {
    final int index = tables.indexOf(table);
    if (index >= rows.length) {
      rows = Arrays.copyOf(rows, tables.size());
      refusals = Arrays.copyOf(refusals, tables.size());
      again = Arrays.copyOf(again, tables.size());
    }
    if (refusals[index] == null) {
      refusals[index] = refusal;
      isAnyRefused = true;
    }
    if (!table.isDeferred(row)) {
      table.deferred(row, true);
      if (rows[index] == null) {
        rows[index] = new IntArrayQueue(NO_ROW);
      }
      rows[index].addInt(row);
      size++;
      if (rows[index].size() == 1) {
        LOGGER.warn("{}; the write is retried", refusal.getMessage());
      }
    }
  }

  /** Reports what the round has left to be retried. */
  void endRound() {
    for (int i = 0; isAnyRefused && i < refusals.length; i++) {
      if (refusals[i] != null && tables.get(i) != null) {
        report(i, refusals[i]);
      }
    }
  }

  /** Begins to retry: no table refuses yet. */
  void beginRetry() {
    Arrays.fill(again, false);
    rank = 0;
    retried = 0;
  }

  /** Moves to the next row that is to be retried; returns whether there is one. */
  boolean advance() {
    if (size == 0) {
      return false;
    }
    for (; rank <= tables.highestRank(); rank++) {
      for (; retried < rows.length; retried++) {
        if (!again[retried] && isOfRank(retried)) {
          return true;
        }
      }
      for (int i = 0; i < rows.length; i++) {
        if (isOfRank(i)) {
          return false; // entries of a higher rank may refer to it
        }
      }
      retried = 0;
    }
    return false;
  }

  private boolean isOfRank(int index) {
    return rows[index] != null && !rows[index].isEmpty() && tables.get(index).rank() == rank;
  }

  /** Returns the table of the row that is to be retried. */
  DesiredTable table() {
    return tables.get(retried);
  }

  /** Returns the row that is to be retried. */
  int row() {
    return rows[retried].peekInt();
  }

  /** Notes that the row was refused again: its table is not retried now. */
  void again(RuntimeException refusal) {
    again[retried] = true;
    report(retried, refusal);
  }

  /** Removes the row, which is realized now. */
  void remove() {
    final DesiredTable table = table();
    final int row = rows[retried].pollInt();
    size--;
    table.deferred(row, false);
    table.freeUnused(row);
    if (rows[retried].isEmpty()) {
      LOGGER.info("map {}: the refused entries are written", table.map().name());
      table.faults().clear(subject(table));
    }
  }

  /** Removes all rows of a table that is about to be removed. */
  void removeAll(DesiredTable table) {
    final int index = tables.indexOf(table);
    if (index < rows.length) {
      refusals[index] = null;
      if (rows[index] != null && !rows[index].isEmpty()) {
        size -= rows[index].size();
        rows[index].clear();
        table.faults().clear(subject(table));
      }
    }
  }

  private void report(int index, RuntimeException refusal) {
    final DesiredTable table = tables.get(index);
    table
        .faults()
        .degraded(
            subject(table),
            "%d not written, and retried: %s".formatted(rows[index].size(), refusal.getMessage()));
  }

  private static String subject(DesiredTable table) {
    return "entries of map " + table.map().name();
  }
}
