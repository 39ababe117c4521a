package agent.maps.mirror;

import agent.bindings.Errno;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.agrona.DirectBuffer;

/**
 * Writes that the agent wants and the kernel refused. The conductor's thread changes it, others
 * read; while nothing is refused a write only looks at a counter.
 */
final class UnrealisedWrites {
  /** Refused writes beyond this many are told to the caller alone. */
  static final int LIMIT = 65_536;

  /**
   * One refused write.
   *
   * @param value that was to be written, or null for a delete
   * @param errno positive
   */
  record Write(int serial, byte[] key, byte[] value, int errno) {
    /** What the kernel said, such as {@code update: ENOSPC}. */
    String error() {
      return (value == null ? "delete: " : "update: ") + Errno.name(errno);
    }
  }

  private record Subject(int serial, byte[] key) {
    @Override
    public boolean equals(Object other) {
      return other instanceof final Subject subject
          && subject.serial == serial
          && Arrays.equals(subject.key, key);
    }

    @Override
    public int hashCode() {
      return 31 * serial + Arrays.hashCode(key);
    }
  }

  private final Map<Subject, Write> writes = new LinkedHashMap<>();
  private volatile int size;

  /** Number of refused writes. */
  int size() {
    return size;
  }

  /** The kernel refused a write or, with a null value, a delete. */
  synchronized void refused(int serial, DirectBuffer key, DirectBuffer value, int errno) {
    final Subject subject = new Subject(serial, bytes(key));
    if (writes.size() < LIMIT || writes.containsKey(subject)) { // an old one keeps its place
      writes.put(
          subject, new Write(serial, subject.key, value == null ? null : bytes(value), errno));
    }
    size = writes.size();
  }

  /** The kernel now holds what is wanted for this key. */
  void realised(int serial, DirectBuffer key) {
    if (size > 0) {
      forget(serial, key);
    }
  }

  private synchronized void forget(int serial, DirectBuffer key) {
    writes.remove(new Subject(serial, bytes(key)));
    size = writes.size();
  }

  /** The map is gone, or nothing of it is wanted any more. */
  void forgetMap(int serial) {
    if (size > 0) {
      forgetWrites(serial);
    }
  }

  private synchronized void forgetWrites(int serial) {
    writes.keySet().removeIf(subject -> subject.serial == serial);
    size = writes.size();
  }

  /** All refused writes, the oldest first. */
  synchronized List<Write> all() {
    return List.copyOf(writes.values());
  }

  /** The refused writes of one map. */
  List<Write> ofMap(int serial) {
    if (size == 0) {
      return new ArrayList<>();
    }
    synchronized (this) {
      return new ArrayList<>(
          writes.values().stream().filter(write -> write.serial == serial).toList());
    }
  }

  private static byte[] bytes(DirectBuffer buffer) {
    final byte[] copy = new byte[buffer.capacity()];
    buffer.getBytes(0, copy);
    return copy;
  }
}
