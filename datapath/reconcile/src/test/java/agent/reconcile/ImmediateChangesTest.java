package agent.reconcile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import java.util.Map;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;

/** No test steps the conductor before a change is in force. */
class ImmediateChangesTest {
  private static final int MANY = 2000;

  private final ReconcileBench bench = new ReconcileBench();
  private final ImmediateChanges changes = new ImmediateChanges(bench.reconciler);
  private final NumberedMap map = new NumberedMap("a", MANY + 1);
  private final UnsafeBuffer key = new UnsafeBuffer(new byte[8]);
  private final UnsafeBuffer value = new UnsafeBuffer(new byte[4]);

  private DesiredTable table() {
    return changes.add(map, 0, Realization.PLAIN, bench);
  }

  private UnsafeBuffer key(int number) {
    key.putInt(4, number);
    return key;
  }

  private UnsafeBuffer value(int to) {
    value.putInt(0, to);
    return value;
  }

  private static void assertRefused(int number, Runnable change) {
    assertEquals(
        "map a: update (a%d): ENOSPC".formatted(number),
        assertThrows(IllegalStateException.class, change::run).getMessage());
  }

  @Test
  void shouldHaveEachChangeInForceWhenItReturns() {
    final DesiredTable table = table();
    changes.put(table, key(1), value(10));
    changes.tryPut(table, key(2), value(20));
    assertEquals("1=10 2=20", map.entries());
    changes.put(table, key(1), value(11));
    changes.tryPut(table, key(2), value(21));
    assertEquals("1=11 2=21", map.entries());
    changes.remove(table, key(1));
    assertEquals("2=21", map.entries());
  }

  /** Adopting so many entries takes several steps. */
  @Test
  void shouldKeepTheEntriesOfAPreviousRunUntilTheOthersAreRemoved() {
    for (int number = 1; number <= MANY; number++) {
      map.set(number, number);
    }
    final DesiredTable table = table();
    changes.put(table, key(7), value(70));
    changes.tryPut(table, key(8), value(8));
    assertEquals(MANY, map.size);
    assertEquals(List.of("+a7=70"), map.takeLog(), "8 is there already");
    changes.removeOthers(table);
    assertEquals("7=70 8=8", map.entries());
  }

  @Test
  void shouldRetryAnEntryThatStaysDesired() {
    final DesiredTable table = table();
    map.room = 1;
    changes.put(table, key(1), value(10));
    assertRefused(2, () -> changes.put(table, key(2), value(20)));
    assertEquals(
        Map.of(
            "entries of map a", "degraded: 1 not written, and retried: map a: update (a2): ENOSPC"),
        bench.faults);
    changes.remove(table, key(1));
    bench.elapse(100);
    assertEquals("2=20", map.entries());
    assertEquals(Map.of(), bench.faults);
  }

  @Test
  void shouldForgetAnEntryThatWasRefusedAndHasNoneBefore() {
    final DesiredTable table = table();
    map.room = 1;
    changes.tryPut(table, key(1), value(10));
    assertRefused(2, () -> changes.tryPut(table, key(2), value(20)));
    assertFalse(table.wants(key(2)));
    assertEquals(Map.of(), bench.faults);
    changes.remove(table, key(1));
    bench.elapse(10_000);
    assertEquals("", map.entries());
    changes.tryPut(table, key(2), value(20));
    assertEquals("2=20", map.entries());
  }

  @Test
  void shouldReturnToTheEntryOfBeforeWhereItsNextOneIsRefused() {
    map.set(2, 20);
    final DesiredTable table = table();
    changes.tryPut(table, key(1), value(10));
    for (final int number : new int[] {1, 2}) {
      map.refused = number;
      assertRefused(number, () -> changes.tryPut(table, key(number), value(99)));
    }
    map.refused = -1;
    bench.elapse(10_000);
    assertEquals("1=10 2=20", map.entries());
    changes.removeOthers(table);
    assertEquals("1=10 2=20", map.entries(), "they are those of this run now");
    assertEquals(Map.of(), bench.faults);
  }

  /** A former refusal fails no later change. */
  @Test
  void shouldReportTheRefusalOfEachChangeAlone() {
    final DesiredTable table = table();
    map.refused = 2;
    assertRefused(2, () -> changes.put(table, key(2), value(20)));
    changes.put(table, key(1), value(10));
    assertRefused(2, () -> changes.tryPut(table, key(2), value(21)));
    changes.tryPut(table, key(3), value(30));
    assertEquals("1=10 3=30", map.entries());
    map.refused = -1;
    bench.elapse(10_000);
    assertEquals("1=10 2=20 3=30", map.entries(), "the first one is desired still");
  }
}
