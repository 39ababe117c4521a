package agent.reconcile;

import java.util.Arrays;
import org.agrona.collections.LongArrayQueue;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/** The rows whose writes were refused, or are held back behind such a one, in their order. */
final class RefusedRows {
  private static final Logger LOGGER = LogManager.getLogger(RefusedRows.class);

  private final Tables tables;
  private final LongArrayQueue rows = new LongArrayQueue(Long.MIN_VALUE);

  /** Per table, the first refusal in the present change, and the number of its rows. */
  private RuntimeException[] refusals = {};

  private int[] counts = {};

  RefusedRows(Tables tables) {
    this.tables = tables;
  }

  boolean isEmpty() {
    return rows.isEmpty();
  }

  /** Begins a change, in which nothing is refused yet. */
  void beginChange() {
    if (refusals.length != tables.size()) {
      refusals = Arrays.copyOf(refusals, tables.size());
      counts = Arrays.copyOf(counts, tables.size());
    }
    Arrays.fill(refusals, null);
  }

  /**
   * Returns the refusal in this change that a write is not to overtake, or null: one of the same
   * table where the entry is new, and one of a table that the entry may refer to.
   */
  RuntimeException before(DesiredTable table, int row) {
    for (int i = 0; i < refusals.length; i++) {
      if (refusals[i] != null
          && (tables.get(i).rank() < table.rank()
              || tables.get(i) == table && table.held(row) == null)) {
        return refusals[i];
      }
    }
    return null;
  }

  /** Adds a row. */
  void add(DesiredTable table, long packed, RuntimeException refusal) {
    final int index = tables.indexOf(table);
    if (refusals[index] == null) {
      refusals[index] = refusal;
    }
    if (!table.isDeferred(Tables.rowOf(packed))) {
      table.deferred(Tables.rowOf(packed), true);
      rows.addLong(packed);
      counts[index]++;
      if (counts[index] == 1) {
        LOGGER.warn("{}; the write is retried", refusal.getMessage());
      }
    }
  }

  /** Reports what the change has left to be retried. */
  void endChange() {
    for (int i = 0; i < refusals.length; i++) {
      if (refusals[i] != null) {
        report(i, refusals[i]);
      }
    }
  }

  /** Notes that the first row was refused again. */
  void again(DesiredTable table, RuntimeException refusal) {
    report(tables.indexOf(table), refusal);
  }

  private void report(int index, RuntimeException refusal) {
    tables
        .get(index)
        .faults()
        .degraded(
            subject(index),
            "%d not written, and retried: %s".formatted(counts[index], refusal.getMessage()));
  }

  private String subject(int index) {
    return "entries of map " + tables.get(index).map().name();
  }

  /** Returns the first row. */
  long first() {
    return rows.peekLong();
  }

  /** Removes the first row, which is realized now. */
  void removeFirst() {
    final long packed = rows.pollLong();
    final DesiredTable table = tables.tableOf(packed);
    final int index = tables.indexOf(table);
    table.deferred(Tables.rowOf(packed), false);
    table.freeUnused(Tables.rowOf(packed));
    counts[index]--;
    if (counts[index] == 0) {
      LOGGER.info("map {}: the refused entries are written", table.map().name());
      table.faults().clear(subject(index));
    }
  }
}
