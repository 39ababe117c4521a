package agent.maps.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayList;
import java.util.List;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;

/**
 * Reads a ring in the kernel's format, with record states that are hard to produce in time with a
 * program.
 */
class RingBufferReaderTest {
  private static final int SIZE = 256;
  private static final int BUSY = 1 << 31;
  private static final int DISCARDED = 1 << 30;

  private final UnsafeBuffer consumer = new UnsafeBuffer(new byte[8]);
  private final UnsafeBuffer producer = new UnsafeBuffer(new byte[8]);
  private final UnsafeBuffer data = new UnsafeBuffer(new byte[2 * SIZE]);
  private final RingBufferReader reader =
      new RingBufferReader(-1, List.of(), consumer, producer, data);
  private final List<Long> seen = new ArrayList<>();
  private long position;

  private int produce(int flags, long content) {
    final int offset = (int) position & SIZE - 1;
    for (int copy = 0; copy < 2; copy++) { // the pages are mapped twice
      final int base = offset + copy * SIZE;
      if (base + 16 <= 2 * SIZE) {
        data.putInt(base, 8 | flags);
        data.putLong(base + 8, content);
      }
    }
    position += 16;
    producer.putLong(0, position);
    return offset;
  }

  /** Bytes that were produced and not consumed yet. */
  private long backlogBytes() {
    return producer.getLong(0) - consumer.getLong(0);
  }

  private int poll(int limit) {
    return reader.poll(
        (buffer, offset, length) -> {
          assertEquals(8, length);
          seen.add(buffer.getLong(offset));
        },
        limit);
  }

  @Test
  void shouldPassRecordsInOrderAndConsumeThem() {
    produce(0, 1);
    produce(0, 2);
    assertEquals(32, backlogBytes());
    assertEquals(2, poll(10));
    assertEquals(List.of(1L, 2L), seen);
    assertEquals(0, backlogBytes());
    assertEquals(0, poll(10));
  }

  @Test
  void shouldPassNoMoreRecordsThanTheLimit() {
    produce(0, 1);
    produce(0, 2);
    produce(0, 3);
    assertEquals(2, poll(2));
    assertEquals(16, backlogBytes());
    assertEquals(1, poll(2));
    assertEquals(List.of(1L, 2L, 3L), seen);
  }

  @Test
  void shouldStopAtARecordThatIsBeingWritten() {
    produce(0, 1);
    final int offset = produce(BUSY, 2);
    produce(0, 3);
    assertEquals(1, poll(10));
    assertEquals(0, poll(10));
    data.putInt(offset, 8);
    assertEquals(2, poll(10));
    assertEquals(List.of(1L, 2L, 3L), seen);
  }

  @Test
  void shouldSkipADiscardedRecord() {
    produce(DISCARDED, 1);
    produce(0, 2);
    assertEquals(1, poll(10));
    assertEquals(List.of(2L), seen);
    assertEquals(0, backlogBytes());
  }

  @Test
  void shouldWrapAroundAtTheEnd() {
    for (long i = 0; i < 1000; i++) {
      produce(0, i);
      assertEquals(1, poll(10));
    }
    assertEquals(1000, seen.size());
    assertEquals(999, seen.getLast());
  }

  /** Positions never wrap: after 2 GiB of records they no longer fit into an int. */
  @Test
  void shouldReadRecordsAtPositionsThatAnIntCannotHold() {
    for (final long start : new long[] {1L << 31, 1L << 32, 3L << 32, 1L << 62}) {
      position = start - 4 * 16;
      consumer.putLong(0, position);
      producer.putLong(0, position);
      seen.clear();
      for (long i = 0; i < 8; i++) {
        produce(0, i);
        assertEquals(1, poll(10), "position " + position);
      }
      assertEquals(List.of(0L, 1L, 2L, 3L, 4L, 5L, 6L, 7L), seen);
      assertEquals(start + 4 * 16, consumer.getLong(0));
    }
  }

  @Test
  void shouldConsumeARecordWhoseHandlerThrows() {
    produce(0, 1);
    produce(0, 2);
    assertThrows(
        IllegalStateException.class,
        () ->
            reader.poll(
                (buffer, offset, length) -> {
                  throw new IllegalStateException("handler");
                },
                10));
    assertEquals(1, poll(10));
    assertEquals(List.of(2L), seen);
  }
}
