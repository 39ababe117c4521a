package agent.maps.mirror;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;

import agent.maps.mirror.StoredBytes.Marshaller;
import net.openhft.chronicle.bytes.Bytes;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;

/** Keys and values on their way to the store and back. */
class StoredBytesTest {
  private static final Marshaller MARSHALLER = Marshaller.INSTANCE;

  private static UnsafeBuffer counted(int size) {
    final UnsafeBuffer buffer = new UnsafeBuffer(new byte[size]);
    for (int i = 0; i < size; i++) {
      buffer.putByte(i, (byte) (i + 1));
    }
    return buffer;
  }

  private static byte[] written(StoredBytes stored) {
    final Bytes<?> bytes = Bytes.allocateElasticOnHeap();
    MARSHALLER.write(bytes, MARSHALLER.size(stored), stored);
    return bytes.toByteArray();
  }

  /** Both longer and shorter than what was in the object before. */
  @Test
  void shouldHoldBytesOfEveryLength() {
    final StoredBytes stored = new StoredBytes();
    for (final int size : new int[] {3, 64, 65, 200, 1, 0}) {
      final UnsafeBuffer source = counted(size + 5);
      assertSame(stored, stored.set(source, 2, size));
      assertEquals(size, MARSHALLER.size(stored));
      final byte[] bytes = written(stored);
      assertEquals(size, bytes.length);
      for (int i = 0; i < size; i++) {
        assertEquals((byte) (i + 3), bytes[i]);
      }
    }
  }

  @Test
  void shouldPutTheNumberOfTheMapBeforeAKey() {
    final StoredBytes stored = new StoredBytes();
    assertSame(stored, stored.set(0x0102_0304, counted(9), 1, 5));
    assertEquals(9, MARSHALLER.size(stored));
    final UnsafeBuffer bytes = new UnsafeBuffer(written(stored));
    assertEquals(9, bytes.capacity());
    assertEquals(0x0102_0304, bytes.getInt(0));
    assertEquals(2, bytes.getByte(4));
    assertEquals(6, bytes.getByte(8));
  }

  @Test
  void shouldReadBackWhatItWrote() {
    final StoredBytes stored = new StoredBytes().set(counted(100), 0, 100);
    final Bytes<?> bytes = Bytes.allocateElasticOnHeap();
    MARSHALLER.write(bytes, 100, stored);
    final StoredBytes first = MARSHALLER.read(bytes, 60, null);
    assertNotSame(stored, first);
    assertEquals(60, written(first).length);
    assertEquals(60, written(first)[59]);
    assertSame(first, MARSHALLER.read(bytes, 40, first), "no other object is made");
    assertEquals(40, written(first).length);
    assertEquals(61, written(first)[0]);
    assertEquals(100, written(first)[39]);
  }

  @Test
  void shouldBeOneObjectAfterItWasSerialized() {
    assertSame(MARSHALLER, MARSHALLER.readResolve());
  }
}
