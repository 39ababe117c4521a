package agent.maps.mirror;

import java.nio.ByteBuffer;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.AtomicBuffer;
import org.agrona.concurrent.MessageHandler;
import org.agrona.concurrent.UnsafeBuffer;
import org.agrona.concurrent.ringbuffer.ManyToOneRingBuffer;
import org.agrona.concurrent.ringbuffer.RingBufferDescriptor;

/**
 * Ring buffer that transfers writes from the conductor's thread to {@code dp-mirror}; neither waits
 * for the other.
 */
final class WriteRing {
  static final int UPDATE = 1;
  static final int DELETE = 2;
  static final int KEY_SIZE_OFFSET = Integer.BYTES; // follows the map's serial number
  static final int KEY_OFFSET = KEY_SIZE_OFFSET + Integer.BYTES;

  /** Room for about 25,000 writes. */
  static final int CAPACITY_BYTES = 1 << 20;

  private final ManyToOneRingBuffer ring =
      new ManyToOneRingBuffer(
          new UnsafeBuffer(
              ByteBuffer.allocateDirect(CAPACITY_BYTES + RingBufferDescriptor.TRAILER_LENGTH)));

  /** Records an update or, with a null value, a delete; returns false if the ring is full. */
  boolean note(int serial, DirectBuffer key, DirectBuffer value) {
    final int keySize = key.capacity();
    final int valueSize = value == null ? 0 : value.capacity();
    final int index =
        ring.tryClaim(value == null ? DELETE : UPDATE, KEY_OFFSET + keySize + valueSize);
    if (index < 0) {
      return false;
    }
    final AtomicBuffer buffer = ring.buffer();
    buffer.putInt(index, serial);
    buffer.putInt(index + KEY_SIZE_OFFSET, keySize);
    buffer.putBytes(index + KEY_OFFSET, key, 0, keySize);
    if (value != null) {
      buffer.putBytes(index + KEY_OFFSET + keySize, value, 0, valueSize);
    }
    ring.commit(index);
    return true;
  }

  int drain(MessageHandler handler, int limit) {
    return ring.read(handler, limit);
  }

  /** Returns the position of the next write. */
  long end() {
    return ring.producerPosition();
  }

  /** Returns whether every write before this position has been handled. */
  boolean isDrained(long position) {
    return ring.consumerPosition() >= position;
  }
}
