package agent.maps.mirror;

import java.nio.ByteBuffer;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.AtomicBuffer;
import org.agrona.concurrent.MessageHandler;
import org.agrona.concurrent.UnsafeBuffer;
import org.agrona.concurrent.ringbuffer.ManyToOneRingBuffer;
import org.agrona.concurrent.ringbuffer.RingBufferDescriptor;

/** Writes on their way from the conductor to the mirror's thread; neither waits for the other. */
final class MirrorJournal {
  static final int UPDATE = 1;
  static final int DELETE = 2;

  static final int KEY_SIZE_OFFSET = Integer.BYTES;
  static final int KEY_OFFSET = KEY_SIZE_OFFSET + Integer.BYTES;

  private final ManyToOneRingBuffer ring;

  /**
   * An empty journal.
   *
   * @param capacityBytes a power of two
   */
  MirrorJournal(int capacityBytes) {
    ring =
        new ManyToOneRingBuffer(
            new UnsafeBuffer(
                ByteBuffer.allocateDirect(capacityBytes + RingBufferDescriptor.TRAILER_LENGTH)));
  }

  /** Notes an update; false where there is no room, and then the mirror is in doubt. */
  boolean update(int serial, DirectBuffer key, DirectBuffer value) {
    final int index = claim(UPDATE, serial, key, value.capacity());
    if (index < 0) {
      return false;
    }
    ring.buffer().putBytes(index + KEY_OFFSET + key.capacity(), value, 0, value.capacity());
    ring.commit(index);
    return true;
  }

  /** Notes a delete; false where there is no room, and then the mirror is in doubt. */
  boolean delete(int serial, DirectBuffer key) {
    final int index = claim(DELETE, serial, key, 0);
    if (index < 0) {
      return false;
    }
    ring.commit(index);
    return true;
  }

  private int claim(int type, int serial, DirectBuffer key, int valueSize) {
    final int index = ring.tryClaim(type, KEY_OFFSET + key.capacity() + valueSize);
    if (index >= 0) {
      final AtomicBuffer buffer = ring.buffer();
      buffer.putInt(index, serial);
      buffer.putInt(index + KEY_SIZE_OFFSET, key.capacity());
      buffer.putBytes(index + KEY_OFFSET, key, 0, key.capacity());
    }
    return index;
  }

  int drain(MessageHandler handler, int limit) {
    return ring.read(handler, limit);
  }

  long producerPosition() {
    return ring.producerPosition();
  }

  long consumerPosition() {
    return ring.consumerPosition();
  }
}
