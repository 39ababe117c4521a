package agent.conntrack;

import agent.maps.layout.ConntrackTable;
import java.util.concurrent.atomic.AtomicLongArray;

/** What the sweeps of each table did since the start. One thread writes, any thread reads. */
public final class ConntrackCounters {
  private static final int SWEEPS = 0;
  private static final int VISITED = 1;
  private static final int DELETED = 2;
  private static final int ENTRIES = 3;
  private static final int LAST_DURATION = 4;
  private static final int LONGEST_DURATION = 5;
  private static final int FAILURES = 6;
  private static final int LAST_ERRNO = 7;
  private static final int FIELDS = 8;

  private final AtomicLongArray values =
      new AtomicLongArray(ConntrackTable.values().length * FIELDS);

  ConntrackCounters() {}

  /** Sweeps that ended well. */
  public long sweeps(ConntrackTable table) {
    return get(table, SWEEPS);
  }

  /** Entries that the sweeps saw, in all. */
  public long visited(ConntrackTable table) {
    return get(table, VISITED);
  }

  /** Entries that the sweeps deleted, in all. */
  public long deleted(ConntrackTable table) {
    return get(table, DELETED);
  }

  /** Entries that the last sweep left. */
  public long entries(ConntrackTable table) {
    return get(table, ENTRIES);
  }

  /** Time of the last sweep. */
  public long lastDurationNs(ConntrackTable table) {
    return get(table, LAST_DURATION);
  }

  /** Time of the longest sweep: for so long the kernel worked without a break. */
  public long longestDurationNs(ConntrackTable table) {
    return get(table, LONGEST_DURATION);
  }

  /** Sweeps that the kernel refused. */
  public long failures(ConntrackTable table) {
    return get(table, FAILURES);
  }

  /** The error of the last sweep, positive; 0 where it ended well. */
  public int lastErrno(ConntrackTable table) {
    return (int) get(table, LAST_ERRNO);
  }

  void onSweep(ConntrackTable table, long visited, long deleted, long durationNs) {
    add(table, SWEEPS, 1);
    add(table, VISITED, visited);
    add(table, DELETED, deleted);
    set(table, ENTRIES, visited - deleted);
    set(table, LAST_DURATION, durationNs);
    set(table, LONGEST_DURATION, Math.max(durationNs, get(table, LONGEST_DURATION)));
    set(table, LAST_ERRNO, 0);
  }

  void onFailure(ConntrackTable table, int errno) {
    add(table, FAILURES, 1);
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
