package agent.maps.mirror;

import agent.maps.format.MapFormat;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.MapCursor;
import java.nio.ByteBuffer;
import java.util.LinkedHashMap;
import java.util.Map;
import org.agrona.MutableDirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * Memory of one reader: a batch of a map or a segment of its copy, and the texts of one entry. It
 * shows what the kernel holds together with what it refused to hold.
 */
final class MapReading {
  private final MapCursor cursor = new MapCursor();
  private final SegmentCopy copy = new SegmentCopy();
  private final StringBuilder key = new StringBuilder();
  private final StringBuilder value = new StringBuilder();
  private final Map<ByteBuffer, UnrealisedWrites.Write> refused = new LinkedHashMap<>();
  private MapFormat format;
  private MapVisitor visitor;

  /** Starts on a map whose refused writes are these. */
  void begin(BpfMap map, Iterable<UnrealisedWrites.Write> writes, MapVisitor to) {
    format = map.format();
    visitor = to;
    refused.clear();
    for (final UnrealisedWrites.Write write : writes) {
      refused.put(ByteBuffer.wrap(write.key()), write);
    }
  }

  /** Shows what a cursor finds in the kernel; false where the map is gone or cannot be walked. */
  boolean fromKernel(BpfMap map) {
    if (cursor.open(map) != 0) {
      return false;
    }
    try (cursor) {
      boolean more = true;
      while (more && cursor.next()) {
        more = show(cursor.key(), 0, map.keySize(), cursor.value(), 0);
      }
      if (more) {
        showRefused();
      }
    }
    return true;
  }

  /** Shows the copy of a map; the caller has retained the store. */
  void fromStore(BpfMap map, MirrorStore store, int epoch) {
    for (int segment = 0; segment < store.segments(); segment++) {
      store.copy(segment, map.serial(), epoch, copy);
      while (copy.next()) {
        final MutableDirectBuffer entry = copy.buffer();
        if (!show(entry, copy.keyOffset(), map.keySize(), entry, copy.valueOffset())) {
          return;
        }
      }
    }
    showRefused();
  }

  private boolean show(
      MutableDirectBuffer keyBuffer,
      int keyOffset,
      int keySize,
      MutableDirectBuffer valueBuffer,
      int valueOffset) {
    UnrealisedWrites.Write write = null;
    if (!refused.isEmpty()) {
      final byte[] bytes = new byte[keySize];
      keyBuffer.getBytes(keyOffset, bytes);
      write = refused.remove(ByteBuffer.wrap(bytes));
    }
    if (write != null && write.value() != null) {
      return show(write);
    }
    text(keyBuffer, keyOffset, valueBuffer, valueOffset);
    return write == null
        ? visitor.onEntry(key, value, DesiredAction.OK, null)
        : visitor.onEntry(key, value, DesiredAction.DELETE, write.error());
  }

  private boolean show(UnrealisedWrites.Write write) {
    text(new UnsafeBuffer(write.key()), 0, new UnsafeBuffer(write.value()), 0);
    return visitor.onEntry(key, value, DesiredAction.INSERT, write.error());
  }

  private void showRefused() {
    for (final UnrealisedWrites.Write write : refused.values()) {
      if (write.value() != null && !show(write)) {
        return;
      }
    }
  }

  private void text(
      MutableDirectBuffer keyBuffer,
      int keyOffset,
      MutableDirectBuffer valueBuffer,
      int valueOffset) {
    key.setLength(0);
    value.setLength(0);
    format.appendKey(key, keyBuffer, keyOffset, valueBuffer, valueOffset);
    format.appendValue(value, keyBuffer, keyOffset, valueBuffer, valueOffset);
  }
}
