package agent.maps.mirror;

import agent.bindings.Errno;
import agent.maps.format.MapFormat;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.MapCursor;
import agent.maps.mirror.MapVisitor.DesiredAction;
import java.nio.ByteBuffer;
import java.util.LinkedHashMap;
import java.util.Map;
import org.agrona.ExpandableArrayBuffer;
import org.agrona.MutableDirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * The buffers of one reader: a batch of a map or a segment of its mirror, and the texts of one
 * entry. Passes the kernel's entries and the refused writes to a visitor.
 */
final class MapReading {
  private final MapCursor cursor = new MapCursor();
  private final ExpandableArrayBuffer segment = new ExpandableArrayBuffer(1 << 12);
  private final StringBuilder key = new StringBuilder();
  private final StringBuilder value = new StringBuilder();
  private final Map<ByteBuffer, RefusedWrites.Write> refused = new LinkedHashMap<>();
  private MapFormat format;
  private MapVisitor visitor;

  /** Begins to read a map with these refused writes. */
  void begin(BpfMap map, Iterable<RefusedWrites.Write> writes, MapVisitor to) {
    format = map.format();
    visitor = to;
    refused.clear();
    for (final RefusedWrites.Write write : writes) {
      refused.put(ByteBuffer.wrap(write.key()), write);
    }
  }

  /**
   * Passes the entries of the kernel map to the visitor.
   *
   * @throws agent.maps.kernel.BpfMapException if the walk ended before the last entry
   */
  void fromKernel(BpfMap map) {
    final int opened = cursor.open(map);
    if (opened == -Errno.EOPNOTSUPP) {
      return; // a ring buffer has no entries
    }
    try (cursor) {
      boolean isWanted = opened == 0;
      while (isWanted && cursor.next()) {
        isWanted = show(cursor.key(), 0, map.keySize(), cursor.value(), 0);
      }
      final int error = opened == 0 ? cursor.error() : opened;
      if (error != 0) {
        throw map.failure("walk", "all entries", error);
      }
      if (isWanted) {
        showRefused();
      }
    }
  }

  /**
   * Passes the entries of the mirror to the visitor; the caller keeps the mirror during the call.
   */
  void fromStore(BpfMap map, MirrorStore store) {
    final int stride = MirrorStore.stride(map.keySize(), map.valueSize());
    final int valueOffset = MirrorStore.valueOffset(map.keySize());
    for (int i = 0; i < store.segments(); i++) {
      final int count = store.copy(i, map.serial(), segment);
      for (int at = 0; at < count * stride; at += stride) {
        if (!show(segment, at, map.keySize(), segment, at + valueOffset)) {
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
    RefusedWrites.Write write = null;
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

  private boolean show(RefusedWrites.Write write) {
    text(new UnsafeBuffer(write.key()), 0, new UnsafeBuffer(write.value()), 0);
    return visitor.onEntry(key, value, DesiredAction.INSERT, write.error());
  }

  private void showRefused() {
    for (final RefusedWrites.Write write : refused.values()) {
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
