package agent.datapath.spec;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.maps.layout.EventType;
import agent.maps.layout.FlowEventFlyweight;
import agent.testkit.HeapAllocation;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(60)
class FlowRingTest {
  private static final int LENGTH = FlowEventFlyweight.LENGTH;

  private final UnsafeBuffer bytes = new UnsafeBuffer(new byte[LENGTH]);
  private final FlowEventFlyweight event = new FlowEventFlyweight().wrap(bytes, 0);
  private final UnsafeBuffer copy = new UnsafeBuffer(new byte[LENGTH]);

  private static FlowRing ring(int events) {
    return new FlowRing(events, Set.of(EventType.DROP), () -> 0);
  }

  /** Appends events whose bytes are all the same, which is their number. */
  private void append(FlowRing ring, int from, int to) {
    for (int i = from; i < to; i++) {
      bytes.setMemory(0, LENGTH, (byte) i);
      ring.append(event);
    }
  }

  private void assertRead(FlowRing ring, int at) {
    copy.setMemory(0, LENGTH, (byte) -1);
    assertTrue(ring.read(at, copy, 0), "at " + at);
    for (int i = 0; i < LENGTH; i++) {
      final boolean isCaptured =
          i >> 1 == FlowEventFlyweight.CAPTURED_LENGTH_OFFSET >> 1; // what is kept has no bytes
      assertEquals(isCaptured ? 0 : at, copy.getByte(i), "byte " + i + " at " + at);
    }
  }

  @Test
  void shouldCaptureNoPacketForASubscriberThatDoesNotAsk() {
    final DatapathEvents.FlowSubscriber subscriber = received -> {};
    assertFalse(subscriber.capturesPackets());
  }

  @Test
  void shouldHoldTheLastEventsInTheirOrder() {
    final FlowRing ring = ring(8);
    assertFalse(ring.read(0, copy, 0), "it is empty");
    append(ring, 0, 3);
    assertEquals(3, ring.position());
    assertRead(ring, 0);
    assertRead(ring, 2);
    assertFalse(ring.read(3, copy, 0), "not there yet");
    append(ring, 3, 8);
    assertRead(ring, 0);
    append(ring, 8, 9);
    assertFalse(ring.read(0, copy, 0), "no longer there");
    assertFalse(ring.read(9, copy, 0), "not there yet");
    assertRead(ring, 1);
    append(ring, 9, 100);
    for (int at = 0; at < 92; at++) {
      assertFalse(ring.read(at, copy, 0), "at " + at);
    }
    for (int at = 92; at < 100; at++) {
      assertRead(ring, at);
    }
  }

  @Test
  void shouldCopyToThePlaceThatIsAskedFor() {
    final FlowRing ring = ring(2);
    append(ring, 0, 2);
    final UnsafeBuffer longer = new UnsafeBuffer(new byte[LENGTH + 24]);
    assertTrue(ring.read(1, longer, 16));
    assertEquals(0, longer.getByte(15));
    assertEquals(1, longer.getByte(16));
    assertEquals(1, longer.getByte(15 + LENGTH));
    assertEquals(0, longer.getByte(16 + LENGTH));
  }

  @ParameterizedTest
  @CsvSource({"1, 1", "2, 2", "3, 4", "4096, 4096", "4097, 8192", "65536, 65536"})
  void shouldHoldAsManyAsAskedForAtLeast(int events, int capacity) {
    final FlowRing ring = ring(events);
    assertEquals(capacity, ring.capacity());
    for (int i = 0; i <= capacity; i++) {
      ring.append(event);
    }
    assertFalse(ring.read(0, copy, 0));
    assertTrue(ring.read(1, copy, 0));
    assertTrue(ring.read(capacity, copy, 0));
  }

  @Test
  void shouldTakeNothingWhereItIsOff() {
    final FlowRing off = ring(0);
    append(off, 0, 10);
    assertEquals(0, off.position());
    assertEquals(0, off.capacity());
    assertFalse(off.read(0, copy, 0));
    assertEquals(Set.of(), off.always(), "the programs emit nothing for it");
    assertEquals(Set.of(EventType.DROP), ring(1).always());
  }

  @Test
  void shouldRefuseSizesThatItCannotHave() {
    assertThrows(IllegalArgumentException.class, () -> ring(-1));
    assertThrows(IllegalArgumentException.class, () -> ring(FlowRing.CAPACITY.highest() + 1));
  }

  @Test
  void shouldTellHowLongItIsThere() {
    final long[] nowNs = {1_000};
    final FlowRing ring = new FlowRing(8, Set.of(), () -> nowNs[0]);
    nowNs[0] = 5_000;
    assertEquals(4_000, ring.uptimeNs());
  }

  @Test
  void shouldAppendAndReadWithoutAllocation() {
    final FlowRing ring = ring(64);
    assertEquals(
        0,
        HeapAllocation.steady(
            100_000,
            () -> {
              ring.append(event);
              ring.read(ring.position() - 1, copy, 0);
            }));
  }

  /**
   * The writer fills each event with its position, eight bytes at a time. The ring is small, so
   * that the writer meets the reader in the same slots again and again.
   */
  @Test
  void shouldGiveWholeEventsWhileTheyAreOverwritten() throws Exception {
    final FlowRing ring = ring(4);
    final Thread writer =
        Thread.ofPlatform()
            .daemon()
            .start(
                () -> {
                  for (long at = 0; !Thread.currentThread().isInterrupted(); at++) {
                    for (int i = 0; i + Long.BYTES <= LENGTH; i += Long.BYTES) {
                      bytes.putLong(i, at);
                    }
                    ring.append(event);
                  }
                });
    long whole = 0;
    long overwritten = 0;
    final long endNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    while (whole < 100_000 || overwritten < 100_000) {
      assertTrue(System.nanoTime() < endNs, whole + " whole, " + overwritten + " overwritten");
      final long at = Math.max(0, ring.position() - 1 - (whole + overwritten) % 4);
      if (!ring.read(at, copy, 0)) {
        overwritten++;
        continue;
      }
      whole++;
      for (int i = 0; i + Long.BYTES <= LENGTH; i += Long.BYTES) {
        assertEquals(at, copy.getLong(i), "byte " + i);
      }
    }
    writer.interrupt();
    writer.join();
  }
}
