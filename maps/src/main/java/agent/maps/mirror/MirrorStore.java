package agent.maps.mirror;

import java.util.concurrent.atomic.AtomicInteger;
import net.openhft.chronicle.bytes.RandomDataInput;
import net.openhft.chronicle.hash.Data;
import net.openhft.chronicle.map.ChronicleMap;
import net.openhft.chronicle.map.ChronicleMapBuilder;
import net.openhft.chronicle.map.MapSegmentContext;
import org.agrona.BitUtil;
import org.agrona.DirectBuffer;
import org.agrona.ExpandableArrayBuffer;

/**
 * The entries of all mirrors, outside the Java heap, by map serial number and key. The thread
 * {@code dp-mirror} writes; readers copy one segment at a time between {@link #retain()} and {@link
 * #release()}, so that a slow reader holds no lock.
 */
final class MirrorStore {
  private static final long CAPACITY = 1 << 17;
  private static final double GROWTH = 4;
  private static final int SEGMENTS = 64;
  private static final int KEY_SIZE = 12;
  private static final int VALUE_SIZE = 8;

  private final AtomicInteger references = new AtomicInteger(1);
  private final StoredBytes key = new StoredBytes();
  private final StoredBytes value = new StoredBytes();
  private final ChronicleMap<StoredBytes, StoredBytes> entries =
      ChronicleMapBuilder.of(StoredBytes.class, StoredBytes.class)
          .name("maps")
          .entries(CAPACITY)
          .averageKeySize(Integer.BYTES + KEY_SIZE)
          .averageValueSize(VALUE_SIZE)
          .keyMarshaller(StoredBytes.Marshaller.INSTANCE)
          .valueMarshaller(StoredBytes.Marshaller.INSTANCE)
          .actualSegments(SEGMENTS)
          .maxBloatFactor(GROWTH)
          .putReturnsNull(true)
          .removeReturnsNull(true)
          .skipCloseOnExitHook(true)
          .create();

  /**
   * Writes an entry; allocates nothing.
   *
   * @return whether the key is new
   * @throws IllegalStateException if the store is full
   */
  boolean put(
      int serial,
      DirectBuffer keys,
      int keyOffset,
      int keySize,
      DirectBuffer values,
      int valueOffset,
      int valueSize) {
    key.set(serial, keys, keyOffset, keySize);
    final boolean isNew = !entries.containsKey(key);
    entries.put(key, value.set(values, valueOffset, valueSize));
    return isNew;
  }

  /** Removes an entry and returns whether it existed. */
  boolean remove(int serial, DirectBuffer keys, int keyOffset, int keySize) {
    key.set(serial, keys, keyOffset, keySize);
    final boolean isThere = entries.containsKey(key);
    if (isThere) {
      entries.remove(key);
    }
    return isThere;
  }

  int segments() {
    return entries.segments();
  }

  /** Removes the entries of a map from one segment. */
  void clear(int segment, int serial) {
    try (MapSegmentContext<StoredBytes, StoredBytes, ?> context = entries.segmentContext(segment)) {
      context.forEachSegmentEntry(
          entry -> {
            if (serial(entry.key()) == serial) {
              entry.doRemove();
            }
          });
    }
  }

  /**
   * Copies a map's entries from one segment: each key at a multiple of {@link #stride}, its value
   * {@link #valueOffset} bytes after the key's start.
   *
   * @return the number of entries
   */
  int copy(int segment, int serial, ExpandableArrayBuffer to) {
    final int[] count = new int[1];
    try (MapSegmentContext<StoredBytes, StoredBytes, ?> context = entries.segmentContext(segment)) {
      context.forEachSegmentEntry(
          entry -> {
            if (serial(entry.key()) == serial) {
              final int keySize = (int) entry.key().size() - Integer.BYTES;
              final int valueSize = (int) entry.value().size();
              final int at = count[0]++ * stride(keySize, valueSize);
              copy(entry.key(), Integer.BYTES, keySize, to, at);
              copy(entry.value(), 0, valueSize, to, at + valueOffset(keySize));
            }
          });
    }
    return count[0];
  }

  static int valueOffset(int keySize) {
    return BitUtil.align(keySize, Long.BYTES);
  }

  static int stride(int keySize, int valueSize) {
    return valueOffset(keySize) + BitUtil.align(valueSize, Long.BYTES);
  }

  private static int serial(Data<StoredBytes> key) {
    return key.bytes().readInt(key.offset());
  }

  private static void copy(
      Data<StoredBytes> data, int from, int size, ExpandableArrayBuffer to, int at) {
    final RandomDataInput bytes = data.bytes();
    for (int i = 0; i < size; i++) {
      to.putByte(at + i, bytes.readByte(data.offset() + from + i));
    }
  }

  /** Keeps the store open until {@link #release()}; returns false if it is closed. */
  boolean retain() {
    int current;
    do {
      current = references.get();
      if (current == 0) {
        return false;
      }
    } while (!references.compareAndSet(current, current + 1));
    return true;
  }

  /** Releases the store; the last release closes it. */
  void release() {
    if (references.decrementAndGet() == 0) {
      entries.close();
    }
  }
}
