package agent.conntrack;

import agent.maps.layout.ConntrackTable;
import java.util.concurrent.atomic.AtomicLongArray;

/** Counters of the sweeps of each table since the start. One thread writes, every thread reads. */
public final class ConntrackCounters {
  private static final int SWEEPS = 0;
  private static final int VISITED = 1;
  private static final int DELETED = 2;
  private static final int ENTRIES = 3;
  private static final int LAST_DURATION = 4;
  private static final int LAST_ERRNO = 5;
  private static final int FIELDS = 6;

  private final AtomicLongArray values =
      new AtomicLongArray(ConntrackTable.values().length * FIELDS);

  ConntrackCounters() {}

  /** Sweeps without an error. */
  public long sweeps(ConntrackTable table) {
    return get(table, SWEEPS);
  }

  /** Entries that all sweeps visited. */
  public long visited(ConntrackTable table) {
    return get(table, VISITED);
  }

  /** Entries that all sweeps deleted. */
  public long deleted(ConntrackTable table) {
    return get(table, DELETED);
  }

  /** Entries that the last sweep kept. */
  public long entries(ConntrackTable table) {
    return get(table, ENTRIES);
  }

  /** Duration of the last sweep. */
  public long lastDurationNs(ConntrackTable table) {
    return get(table, LAST_DURATION);
  }

  /** The positive errno of the last sweep; 0 where it succeeded. */
  public int lastErrno(ConntrackTable table) {
    return (int) get(table, LAST_ERRNO);
  }

  void onSweep(ConntrackTable table, long visited, long deleted, long durationNs) {
    add(table, SWEEPS, 1);
    add(table, VISITED, visited);
    add(table, DELETED, deleted);
    set(table, ENTRIES, visited - deleted);
    set(table, LAST_DURATION, durationNs);
    set(table, LAST_ERRNO, 0);
  }

  void onFailure(ConntrackTable table, int errno) {
    set(table, LAST_ERRNO, errno);
  }

  private long get(ConntrackTable table, int field) {
    return values.get(index(table, field));
  }

  private void set(ConntrackTable table, int field, long value) {
    values.setRelease(index(table, field), value);
  }

  private void add(ConntrackTable table, int field, long value) {
    final int index = index(table, field);
    values.setRelease(index, values.getPlain(index) + value);
  }

  private static int index(ConntrackTable table, int field) {
    return table.number() * FIELDS + field;
  }
}
