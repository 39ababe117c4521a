package agent.reconcile;

import static agent.reconcile.ReconcileBench.STRONG;
import static agent.reconcile.ReconcileBench.WEAK;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.Errno;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** When all maps are known to hold what is desired, and nothing of the previous run. */
class InForceTest {
  private final ReconcileBench bench = new ReconcileBench();
  private final NumberedMap map = new NumberedMap("a", 1000);

  private static void complete(Batch batch, DesiredTable table) {
    batch.complete(table, WEAK);
    batch.complete(table, STRONG);
  }

  @Test
  void shouldNotBeInForceBeforeTheMapIsRead() {
    bench.table(map, 0);
    assertFalse(bench.reconciler.isInForce());
    bench.change(batch -> {});
    assertTrue(bench.reconciler.isInForce());
  }

  @Test
  void shouldNotBeInForceWhileTheMapMayHoldEntriesOfThePreviousRun() {
    map.set(1, 10);
    map.set(2, 20);
    final DesiredTable table = bench.table(map, 0);
    bench.change(batch -> bench.put(batch, table, WEAK, 1, 10));
    assertFalse(bench.reconciler.isInForce());
    bench.submit(batch -> complete(batch, table));
    assertFalse(bench.reconciler.isInForce());
    bench.run();
    assertTrue(bench.reconciler.isInForce());
    assertEquals("1=10", map.entries());
  }

  @Test
  void shouldNotBeInForceWhileAnEntryIsRefused() {
    final DesiredTable table = bench.table(map, 0);
    map.room = 0;
    bench.change(batch -> bench.put(batch, table, WEAK, 1, 10));
    assertFalse(bench.reconciler.isInForce());
    map.room = 1;
    bench.elapse(100);
    assertTrue(bench.reconciler.isInForce());
  }

  @Test
  void shouldNotBeInForceWhileTheMapHoldsAnEntryThatCouldNotBeRemoved() {
    final DesiredTable table = bench.table(map, 0);
    bench.change(batch -> bench.put(batch, table, WEAK, 1, 10));
    map.refused = 1;
    final Consumer<Batch> removal = batch -> bench.remove(batch, table, WEAK, 1);
    assertEquals("map a: delete (a1): EBUSY", bench.change(removal));
    assertEquals("map a: delete (a1): EBUSY", bench.change(removal), "the next call learns it too");
    assertFalse(bench.reconciler.isInForce());
    map.refused = -1;
    assertEquals("in force", bench.change(removal));
    assertTrue(bench.reconciler.isInForce());
    assertEquals("", map.entries());
  }

  @Test
  void shouldNotBeInForceAfterAnErrorUntilTheNextChange() {
    final AtomicBoolean fails = new AtomicBoolean(true);
    final DesiredTable table = bench.failingTable(map, fails);
    map.set(5, 50);
    bench.change(
        batch -> {
          bench.put(batch, table, WEAK, 1, 10);
          complete(batch, table);
        });
    fails.set(false);
    assertFalse(bench.reconciler.isInForce());
    assertEquals("in force", bench.change(batch -> {}));
    assertTrue(bench.reconciler.isInForce());
    assertEquals("1=10", map.entries(), "the previous run has ended");
  }

  /** All sources have put their entries, and do not do so again. */
  @Test
  void shouldEndThePreviousRunOfAMapThatCouldNotBeReadBefore() {
    map.set(5, 50);
    final DesiredTable table = bench.table(map, 0);
    map.walkFailure = -Errno.EACCES;
    bench.change(
        batch -> {
          bench.put(batch, table, WEAK, 1, 10);
          complete(batch, table);
        });
    assertFalse(bench.reconciler.isInForce());
    map.walkFailure = 0;
    assertEquals("in force", bench.change(batch -> {}));
    assertTrue(bench.reconciler.isInForce());
    assertEquals("1=10", map.entries());
  }
}
