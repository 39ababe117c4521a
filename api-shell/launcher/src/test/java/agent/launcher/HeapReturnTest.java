package agent.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** When memory is given back. */
class HeapReturnTest {
  private static final long SETTLED = HeapReturn.LARGE_BYTES + (10L << 20);

  private long committed = SETTLED;
  private long allocated;
  private long changes;
  private int collections;
  private long returned = Long.MAX_VALUE / 2;
  private final HeapReturn heap =
      new HeapReturn(
          () -> committed,
          () -> allocated,
          () -> changes,
          () -> {
            collections++;
            committed = Math.min(committed, Math.max(SETTLED, committed - returned));
          });

  private void look(long allocatedSince) {
    allocated += allocatedSince;
    heap.look();
  }

  private void lookOften() {
    for (int i = 0; i < HeapReturn.LEAST_LOOKS_BETWEEN; i++) {
      look(0);
    }
  }

  /** The start has allocated. */
  @BeforeEach
  void settle() {
    look(0);
    assertEquals(1, collections);
    lookOften();
    assertEquals(1, collections);
  }

  @Test
  void shouldCollectOnceAfterTheHeapHasGrownAndTheAgentIsQuiet() {
    committed = SETTLED + HeapReturn.GROWN_BYTES;
    look(HeapReturn.QUIET_BYTES);
    assertEquals(1, collections, "requests are at work");
    look(HeapReturn.QUIET_BYTES - 1);
    assertEquals(2, collections);
    lookOften();
    assertEquals(2, collections);
    committed = SETTLED + HeapReturn.GROWN_BYTES - 1;
    lookOften();
    assertEquals(2, collections);
  }

  private void lookBusily(int times) {
    for (int i = 0; i < times; i++) {
      look(HeapReturn.QUIET_BYTES);
    }
  }

  /** An agent that is asked all the time would keep what one large request needed. */
  @Test
  void shouldCollectAfterAMinuteWhereTheAgentIsNeverQuiet() {
    committed = SETTLED + HeapReturn.GROWN_BYTES;
    final int before = HeapReturn.LEAST_LOOKS_BETWEEN;
    lookBusily(HeapReturn.LEAST_BUSY_LOOKS - before - 1);
    assertEquals(1, collections);
    lookBusily(1);
    assertEquals(2, collections);
    lookBusily(HeapReturn.LEAST_BUSY_LOOKS);
    assertEquals(2, collections, "it has not grown");
    committed = SETTLED + HeapReturn.GROWN_BYTES;
    lookBusily(1);
    assertEquals(3, collections, "the last one returned much");
  }

  @Test
  void shouldCollectSeldomWhereTheAgentNeedsTheHeap() {
    returned = 0;
    committed = SETTLED + HeapReturn.GROWN_BYTES;
    lookBusily(HeapReturn.LEAST_BUSY_LOOKS - HeapReturn.LEAST_LOOKS_BETWEEN);
    assertEquals(2, collections);
    int looks = 2 * HeapReturn.LEAST_BUSY_LOOKS;
    for (int i = 3; i < 12; i++) {
      committed += HeapReturn.GROWN_BYTES;
      lookBusily(looks - 1);
      assertEquals(i - 1, collections);
      lookBusily(1);
      assertEquals(i, collections, "after " + looks + " looks");
      looks = Math.min(HeapReturn.MOST_BUSY_LOOKS, 2 * looks);
    }
  }

  @Test
  void shouldCollectAfterAChangeThatMayHaveFreedMemory() {
    changes++;
    look(0);
    assertEquals(2, collections);
    changes++;
    for (int i = 1; i < HeapReturn.LEAST_LOOKS_BETWEEN; i++) {
      look(0);
      assertEquals(2, collections, "not again so soon");
    }
    look(0);
    assertEquals(3, collections);
    lookOften();
    assertEquals(4, collections, "what was on its way before");
    lookOften();
    lookOften();
    assertEquals(4, collections);
  }

  @Test
  void shouldLookEveryFewSecondsUntilItIsClosed() throws InterruptedException {
    final AtomicInteger looks = new AtomicInteger();
    final HeapReturn running = HeapReturn.start(looks::incrementAndGet);
    final Thread thread =
        Thread.getAllStackTraces().keySet().stream()
            .filter(each -> each.getName().equals("heap-return"))
            .findFirst()
            .orElseThrow();
    assertTrue(thread.isDaemon());
    final int atStart = looks.get();
    final long endNs = System.nanoTime() + 30_000_000_000L;
    while (looks.get() == atStart && System.nanoTime() < endNs) {
      Thread.sleep(20);
    }
    assertTrue(looks.get() > atStart);
    assertTrue(thread.isAlive());
    running.close();
    thread.join(30_000);
    assertFalse(thread.isAlive());
  }

  @Test
  void shouldLeaveASmallHeapAlone() {
    committed = HeapReturn.LARGE_BYTES - 1;
    changes++;
    lookOften();
    assertEquals(1, collections);
    committed++;
    look(0);
    assertEquals(2, collections);
  }
}
