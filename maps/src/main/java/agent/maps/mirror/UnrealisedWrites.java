package agent.maps.mirror;

import agent.bindings.Errno;
import java.nio.ByteBuffer;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.agrona.DirectBuffer;

/**
 * Desired writes that the kernel refused. The conductor's thread changes it and other threads read
 * it. While no write is refused, a write reads only a counter.
 */
final class UnrealisedWrites {
  /** Limit of stored writes; further refused writes are reported to the caller only. */
  private static final int LIMIT = 65_536;

  /**
   * One refused write.
   *
   * @param value the value to be written, or null for a delete
   * @param errno positive error number
   */
  record Write(int serial, byte[] key, byte[] value, int errno) {
    /** Returns operation and error, such as {@code update: ENOSPC}. */
    String error() {
      return (value == null ? "delete: " : "update: ") + Errno.name(errno);
    }
  }

  private record Subject(int serial, ByteBuffer key) {}

  private final Map<Subject, Write> writes = new LinkedHashMap<>();
  private volatile int size;

  /** Returns the number of refused writes. */
  int size() {
    return size;
  }

  /** Stores a refused write or, with a null value, a refused delete. */
  synchronized void refused(int serial, DirectBuffer key, DirectBuffer value, int errno) {
    final byte[] bytes = bytes(key);
    final Subject subject = new Subject(serial, ByteBuffer.wrap(bytes));
    if (writes.size() < LIMIT || writes.containsKey(subject)) { // repeated: position unchanged
      writes.put(subject, new Write(serial, bytes, value == null ? null : bytes(value), errno));
    }
    size = writes.size();
  }

  /** Removes the refused write of a key, because the kernel now holds the desired entry. */
  void realised(int serial, DirectBuffer key) {
    if (size != 0) {
      synchronized (this) {
        writes.remove(new Subject(serial, ByteBuffer.wrap(bytes(key))));
        size = writes.size();
      }
    }
  }

  /** Removes the refused writes of a map that is closed. */
  void forgetMap(int serial) {
    if (size != 0) {
      synchronized (this) {
        writes.keySet().removeIf(subject -> subject.serial == serial);
        size = writes.size();
      }
    }
  }

  /** Returns all refused writes, the oldest first. */
  synchronized List<Write> all() {
    return List.copyOf(writes.values());
  }

  /** Returns the refused writes of one map. */
  List<Write> ofMap(int serial) {
    return size == 0 ? List.of() : all().stream().filter(write -> write.serial == serial).toList();
  }

  private static byte[] bytes(DirectBuffer buffer) {
    final byte[] copy = new byte[buffer.capacity()];
    buffer.getBytes(0, copy);
    return copy;
  }
}
