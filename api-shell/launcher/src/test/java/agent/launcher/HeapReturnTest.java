package agent.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** When memory is given back. */
class HeapReturnTest {
  private static final long SETTLED = HeapReturn.LARGE_BYTES + (10L << 20);

  private long committed = SETTLED;
  private long allocated;
  private long changes;
  private int collections;
  private final HeapReturn heap =
      new HeapReturn(
          () -> committed,
          () -> allocated,
          () -> changes,
          () -> {
            collections++;
            committed = SETTLED;
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
