package agent.maps.mirror;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;
import net.openhft.chronicle.bytes.RandomDataInput;
import net.openhft.chronicle.hash.Data;
import net.openhft.chronicle.map.ChronicleMap;
import net.openhft.chronicle.map.ChronicleMapBuilder;
import net.openhft.chronicle.map.MapEntry;
import net.openhft.chronicle.map.MapSegmentContext;
import org.agrona.BitUtil;
import org.agrona.DirectBuffer;

/**
 * Entries of maps outside of the Java heap, by (map serial, key); each carries the epoch of the
 * copy that it belongs to. The mirror's thread writes; others copy segments between {@link
 * #retain()} and {@link #release()}. A file is of this process alone, is made anew, and is deleted
 * at the end.
 */
final class MirrorStore {
  private static final int ENTRIES_PER_SEGMENT = 2048;
  private static final int MIN_SEGMENTS = 16;
  private static final double GROWTH = 4;

  private final AtomicInteger references = new AtomicInteger(1);
  private final ChronicleMap<StoredBytes, StoredBytes> entries;
  private final Path file;
  private final StoredBytes key = new StoredBytes();
  private final StoredBytes value = new StoredBytes();

  private MirrorStore(ChronicleMap<StoredBytes, StoredBytes> entries, Path file) {
    this.entries = entries;
    this.file = file;
  }

  /**
   * Opens a store; takes seconds for the first one of a process.
   *
   * @param file where it lies, or null for memory
   */
  static MirrorStore open(String name, long capacity, int keySize, int valueSize, Path file) {
    final long segments = Math.max(MIN_SEGMENTS, capacity / ENTRIES_PER_SEGMENT);
    final ChronicleMapBuilder<StoredBytes, StoredBytes> builder =
        ChronicleMapBuilder.of(StoredBytes.class, StoredBytes.class)
            .name(name)
            .entries(capacity)
            .averageKeySize(StoredBytes.NUMBER_LENGTH + keySize)
            .averageValueSize(StoredBytes.NUMBER_LENGTH + valueSize)
            .keyMarshaller(StoredBytesMarshaller.INSTANCE)
            .valueMarshaller(StoredBytesMarshaller.INSTANCE)
            .actualSegments(BitUtil.findNextPositivePowerOfTwo((int) segments))
            .maxBloatFactor(GROWTH)
            .putReturnsNull(true)
            .removeReturnsNull(true)
            .skipCloseOnExitHook(true);
    if (file == null) {
      return new MirrorStore(builder.create(), null);
    }
    try {
      Files.createDirectories(file.getParent());
      Files.deleteIfExists(file);
      return new MirrorStore(builder.createPersistedTo(file.toFile()), file);
    } catch (IOException e) {
      throw new UncheckedIOException("mirror " + file + ": cannot be made", e);
    }
  }

  /** Writes an entry; allocates nothing. */
  void put(
      int serial,
      int epoch,
      DirectBuffer keySource,
      int keyOffset,
      int keySize,
      DirectBuffer valueSource,
      int valueOffset,
      int valueSize) {
    entries.put(
        key.set(serial, keySource, keyOffset, keySize),
        value.set(epoch, valueSource, valueOffset, valueSize));
  }

  boolean contains(int serial, DirectBuffer keySource, int keyOffset, int keySize) {
    return entries.containsKey(key.set(serial, keySource, keyOffset, keySize));
  }

  void remove(int serial, DirectBuffer keySource, int keyOffset, int keySize) {
    entries.remove(key.set(serial, keySource, keyOffset, keySize));
  }

  int segments() {
    return entries.segments();
  }

  long size() {
    return entries.longSize();
  }

  /**
   * Removes from one segment the entries of a map that are not of this epoch.
   *
   * @return how many of the map's entries are left in the segment
   */
  int sweep(int segment, int serial, int epoch) {
    final int[] left = new int[1];
    try (MapSegmentContext<StoredBytes, StoredBytes, ?> context = entries.segmentContext(segment)) {
      context.forEachSegmentEntry(
          entry -> {
            if (number(entry.key()) == serial) {
              if (number(entry.value()) == epoch) {
                left[0]++;
              } else {
                entry.doRemove();
              }
            }
          });
    }
    return left[0];
  }

  /** Removes every entry of a map. */
  void clear(int serial) {
    for (int segment = 0; segment < segments(); segment++) {
      try (MapSegmentContext<StoredBytes, StoredBytes, ?> context =
          entries.segmentContext(segment)) {
        context.forEachSegmentEntry(
            entry -> {
              if (number(entry.key()) == serial) {
                entry.doRemove();
              }
            });
      }
    }
  }

  /** Copies the map's entries of one segment that are of this epoch or of a later one. */
  void copy(int segment, int serial, int epoch, SegmentCopy copy) {
    copy.clear();
    try (MapSegmentContext<StoredBytes, StoredBytes, ?> context = entries.segmentContext(segment)) {
      context.forEachSegmentEntry(entry -> copy(entry, serial, epoch, copy));
    }
    copy.rewind();
  }

  private static void copy(
      MapEntry<StoredBytes, StoredBytes> entry, int serial, int epoch, SegmentCopy copy) {
    if (number(entry.key()) == serial && number(entry.value()) - epoch >= 0) {
      copy.begin(size(entry.key()), size(entry.value()));
      bytes(entry.key(), copy, copy.keyOffset());
      bytes(entry.value(), copy, copy.valueOffset());
    }
  }

  private static int number(Data<StoredBytes> data) {
    return data.bytes().readInt(data.offset());
  }

  private static int size(Data<StoredBytes> data) {
    return (int) data.size() - StoredBytes.NUMBER_LENGTH;
  }

  private static void bytes(Data<StoredBytes> data, SegmentCopy copy, int at) {
    final RandomDataInput bytes = data.bytes();
    final long start = data.offset() + StoredBytes.NUMBER_LENGTH;
    for (int i = 0; i < size(data); i++) {
      copy.buffer().putByte(at + i, bytes.readByte(start + i));
    }
  }

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

  /** Lets the store go; the last one closes it and deletes its file. */
  void release() {
    if (references.decrementAndGet() == 0) {
      entries.close();
      if (file != null) {
        try {
          Files.deleteIfExists(file);
        } catch (IOException e) {
          throw new UncheckedIOException("mirror " + file + ": cannot be deleted", e);
        }
      }
    }
  }
}
