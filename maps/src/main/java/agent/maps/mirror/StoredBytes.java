package agent.maps.mirror;

import org.agrona.DirectBuffer;
import org.agrona.MutableDirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/** A run of bytes as a key or a value of a store: a number in front, then a map's own bytes. */
final class StoredBytes {
  static final int NUMBER_LENGTH = Integer.BYTES;

  private final UnsafeBuffer buffer = new UnsafeBuffer(new byte[64]);
  private int length;

  /** Copies what is to be stored. */
  StoredBytes set(int number, DirectBuffer source, int offset, int size) {
    ensure(NUMBER_LENGTH + size);
    buffer.putInt(0, number);
    buffer.putBytes(NUMBER_LENGTH, source, offset, size);
    return this;
  }

  /** Makes room for so many bytes, which the caller fills. */
  StoredBytes ensure(int size) {
    if (buffer.capacity() < size) {
      buffer.wrap(new byte[size]);
    }
    length = size;
    return this;
  }

  int number() {
    return buffer.getInt(0);
  }

  MutableDirectBuffer buffer() {
    return buffer;
  }

  int length() {
    return length;
  }
}
