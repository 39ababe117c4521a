package agent.maps.mirror;

import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.core.util.ReadResolvable;
import net.openhft.chronicle.hash.serialization.SizedReader;
import net.openhft.chronicle.hash.serialization.SizedWriter;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * A key or a value of the store; a key consists of the map's serial number and the bytes of the
 * map's key.
 */
final class StoredBytes {
  private final UnsafeBuffer buffer = new UnsafeBuffer(new byte[64]);
  private int length;

  /** Copies a key into this object. */
  StoredBytes set(int serial, DirectBuffer source, int offset, int size) {
    ensure(Integer.BYTES + size);
    buffer.putInt(0, serial);
    buffer.putBytes(Integer.BYTES, source, offset, size);
    return this;
  }

  /** Copies a value into this object. */
  StoredBytes set(DirectBuffer source, int offset, int size) {
    ensure(size);
    buffer.putBytes(0, source, offset, size);
    return this;
  }

  private StoredBytes ensure(int size) {
    if (buffer.capacity() < size) {
      buffer.wrap(new byte[size]);
    }
    length = size;
    return this;
  }

  /**
   * Copies bytes to and from Chronicle Map without allocation. Stateless. It is not an enum because
   * Chronicle Map cannot serialize one.
   */
  static final class Marshaller
      implements SizedReader<StoredBytes>, SizedWriter<StoredBytes>, ReadResolvable<Marshaller> {
    static final Marshaller INSTANCE = new Marshaller();

    private Marshaller() {}

    @Override
    public StoredBytes read(Bytes<?> in, long size, StoredBytes using) {
      final StoredBytes bytes = (using == null ? new StoredBytes() : using).ensure((int) size);
      for (int at = 0; at < bytes.length; at++) {
        bytes.buffer.putByte(at, in.readByte());
      }
      return bytes;
    }

    @Override
    public Marshaller readResolve() {
      return INSTANCE;
    }

    @Override
    public long size(StoredBytes bytes) {
      return bytes.length;
    }

    @Override
    public void write(Bytes<?> out, long size, StoredBytes bytes) {
      for (int at = 0; at < bytes.length; at++) {
        out.writeByte(bytes.buffer.getByte(at));
      }
    }
  }
}
