package agent.reconcile;

import agent.maps.mirror.RefusedWrites;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.agrona.DirectBuffer;

/**
 * The refused rows of tables for other threads: a row is among them from the refusal of its write
 * until its map has what is desired. The thread of the reconcilers changes them, any thread reads.
 */
public final class RefusedEntries implements RefusedWrites {
  /** Limit of what is kept; further refused rows are reported to the waiters and faults only. */
  static final int LIMIT = 65_536;

  private record Subject(DesiredTable table, int row) {}

  private final Map<Subject, Write> writes = new LinkedHashMap<>();
  private volatile int size;

  /** Adds the refused write or, where no source wants the row, delete. */
  synchronized void add(DesiredTable table, int row, int errno) {
    final Subject subject = new Subject(table, row);
    if (writes.size() < LIMIT || writes.containsKey(subject)) { // repeated: position unchanged
      final byte[] value = table.isWanted(row) ? bytes(table.wanted(row)) : null;
      writes.put(subject, new Write(bytes(table.key(row)), value, errno));
      size = writes.size();
    }
  }

  /** Removes a row whose map has what is desired. */
  synchronized void remove(DesiredTable table, int row) {
    writes.remove(new Subject(table, row));
    size = writes.size();
  }

  /** Removes all rows of a table. */
  synchronized void removeAll(DesiredTable table) {
    writes.keySet().removeIf(subject -> subject.table == table);
    size = writes.size();
  }

  @Override
  public List<Write> of(String map) {
    if (size == 0) {
      return List.of();
    }
    synchronized (this) {
      return writes.entrySet().stream()
          .filter(write -> write.getKey().table.map().name().equals(map))
          .map(Map.Entry::getValue)
          .toList();
    }
  }

  /** Returns the number of rows. */
  public int size() {
    return size;
  }

  private static byte[] bytes(DirectBuffer buffer) {
    final byte[] copy = new byte[buffer.capacity()];
    buffer.getBytes(0, copy);
    return copy;
  }
}
