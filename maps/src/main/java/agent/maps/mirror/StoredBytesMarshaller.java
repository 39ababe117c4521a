package agent.maps.mirror;

import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.core.util.ReadResolvable;
import net.openhft.chronicle.hash.serialization.SizedReader;
import net.openhft.chronicle.hash.serialization.SizedWriter;
import org.agrona.MutableDirectBuffer;

/**
 * Moves {@link StoredBytes} in and out of Chronicle Map without allocation. Stateless. No enum,
 * which Chronicle Map cannot keep in a file's header.
 */
final class StoredBytesMarshaller
    implements SizedReader<StoredBytes>,
        SizedWriter<StoredBytes>,
        ReadResolvable<StoredBytesMarshaller> {
  static final StoredBytesMarshaller INSTANCE = new StoredBytesMarshaller();

  private StoredBytesMarshaller() {}

  @Override
  public StoredBytes read(Bytes<?> in, long size, StoredBytes using) {
    final int length = (int) size;
    final StoredBytes bytes = (using == null ? new StoredBytes() : using).ensure(length);
    final MutableDirectBuffer buffer = bytes.buffer();
    int at = 0;
    for (; at + Long.BYTES <= length; at += Long.BYTES) {
      buffer.putLong(at, in.readLong());
    }
    for (; at < length; at++) {
      buffer.putByte(at, in.readByte());
    }
    return bytes;
  }

  @Override
  public StoredBytesMarshaller readResolve() {
    return INSTANCE;
  }

  @Override
  public long size(StoredBytes bytes) {
    return bytes.length();
  }

  @Override
  public void write(Bytes<?> out, long size, StoredBytes bytes) {
    final MutableDirectBuffer buffer = bytes.buffer();
    final int length = (int) size;
    int at = 0;
    for (; at + Long.BYTES <= length; at += Long.BYTES) {
      out.writeLong(buffer.getLong(at));
    }
    for (; at < length; at++) {
      out.writeByte(buffer.getByte(at));
    }
  }
}
