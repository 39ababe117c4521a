package agent.maps.mirror;

import org.agrona.BitUtil;
import org.agrona.ExpandableArrayBuffer;

/** Entries of one segment of a store, copied so that a slow reader holds no lock. Reused. */
final class SegmentCopy {
  private static final int LENGTHS = 2 * Integer.BYTES;

  private final ExpandableArrayBuffer buffer = new ExpandableArrayBuffer(1 << 12);
  private int end;
  private int next;
  private int keyOffset;
  private int valueOffset;

  void clear() {
    end = 0;
    next = 0;
  }

  /** Makes room for one more entry, which the caller puts at the two offsets. */
  void begin(int keySize, int valueSize) {
    buffer.putInt(end, keySize);
    buffer.putInt(end + Integer.BYTES, valueSize);
    place(end);
    end = next;
    buffer.checkLimit(end);
  }

  /** Goes back to before the first entry. */
  void rewind() {
    next = 0;
  }

  /** Steps to the next entry that was copied. */
  boolean next() {
    if (next >= end) {
      return false;
    }
    place(next);
    return true;
  }

  private void place(int start) {
    final int keySize = buffer.getInt(start);
    final int valueSize = buffer.getInt(start + Integer.BYTES);
    keyOffset = BitUtil.align(start + LENGTHS, Long.BYTES);
    valueOffset = BitUtil.align(keyOffset + keySize, Long.BYTES);
    next = BitUtil.align(valueOffset + valueSize, Long.BYTES);
  }

  ExpandableArrayBuffer buffer() {
    return buffer;
  }

  int keyOffset() {
    return keyOffset;
  }

  int valueOffset() {
    return valueOffset;
  }
}
