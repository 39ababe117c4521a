package agent.reconcile;

import static agent.reconcile.ReconcileBench.WEAK;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.Errno;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.agrona.MutableDirectBuffer;
import org.junit.jupiter.api.Test;

/** Changes of several rounds, and tables that come and go. */
class ReconcileRoundsTest {
  private final ReconcileBench bench = new ReconcileBench();
  private final NumberedMap map = new NumberedMap("a", 1000);
  private final NumberedMap other = new NumberedMap("b", 1000);

  /** A change whose rounds put these numbers, and which notes what is reported to it. */
  private final class Rounds implements TableChanges {
    private final DesiredTable table;
    private final int[] numbers;
    private final List<String> reported = new ArrayList<>();
    private int round;

    Rounds(DesiredTable table, int... numbers) {
      this.table = table;
      this.numbers = numbers;
    }

    @Override
    public boolean apply(Batch batch, int limit) {
      bench.put(batch, table, WEAK, numbers[round], 1);
      return false;
    }

    @Override
    public boolean endRound(Batch batch, RuntimeException failure) {
      final RuntimeException refusal = batch.refusal(table);
      reported.add(map.entries() + (refusal == null ? "" : " " + refusal.getMessage()));
      return ++round < numbers.length;
    }
  }

  private void submit(TableChanges changes) {
    bench.reconciler.submit(
        changes, failure -> bench.answers.add(failure == null ? "in force" : "failed"));
  }

  @Test
  void shouldRealizeEachRoundBeforeItBeginsTheNextAndKeepOthersWaiting() {
    final DesiredTable table = bench.table(map, 0);
    final Rounds rounds = new Rounds(table, 1, 2, 3);
    submit(rounds);
    bench.submit(batch -> bench.put(batch, table, WEAK, 9, 9));
    bench.run();
    assertEquals(List.of("1=1", "1=1 2=1", "1=1 2=1 3=1"), rounds.reported);
    assertEquals("1=1 2=1 3=1 9=9", map.entries());
    assertEquals(List.of("in force", "in force"), bench.answers);
  }

  @Test
  void shouldTellTheRefusalsOfEachRound() {
    final DesiredTable table = bench.table(map, 0);
    map.refused = 2;
    final Rounds rounds = new Rounds(table, 1, 2, 3);
    submit(rounds);
    bench.run();
    assertEquals(List.of("1=1", "1=1 map a: update (a2): ENOSPC", "1=1 3=1"), rounds.reported);
    assertEquals(List.of("failed"), bench.answers);
    assertEquals(1, bench.faults.size());
    map.refused = -1;
    bench.elapse(100);
    assertEquals("1=1 2=1 3=1", map.entries());
  }

  /** A full map must not keep another one from what is desired. */
  @Test
  void shouldRetryEachTableForItself() {
    final DesiredTable full = bench.table(map, 0);
    final DesiredTable free = bench.table(other, 0);
    map.room = 0;
    other.room = 0;
    bench.change(
        batch -> {
          bench.put(batch, full, WEAK, 1, 1);
          bench.put(batch, full, WEAK, 2, 1);
          bench.put(batch, free, WEAK, 3, 1);
        });
    other.room = 1;
    bench.elapse(100);
    assertEquals("3=1", other.entries());
    assertEquals(
        Map.of(
            "entries of map a", "degraded: 2 not written, and retried: map a: update (a1): ENOSPC"),
        bench.faults);
    map.room = 2;
    bench.elapse(10_000);
    assertEquals("1=1 2=1", map.entries());
    assertEquals(List.of("+a1=1", "+a2=1"), map.takeLog());
    assertEquals(Map.of(), bench.faults);
  }

  @Test
  void shouldHoldBackWhatATableLetsNotOvertakeARefusedWrite() {
    final DesiredTable table =
        bench.table(
            map,
            0,
            new Realization() {
              @Override
              public boolean mayOvertake(MutableDirectBuffer before, MutableDirectBuffer after) {
                return after != null && after.getInt(0) == 7;
              }
            });
    bench.change(
        batch -> {
          bench.put(batch, table, WEAK, 1, 1);
          bench.put(batch, table, WEAK, 2, 1);
        });
    map.takeLog();
    map.refused = 3;
    bench.change(
        batch -> {
          bench.put(batch, table, WEAK, 3, 1);
          bench.put(batch, table, WEAK, 1, 2);
          bench.put(batch, table, WEAK, 4, 7);
          bench.remove(batch, table, WEAK, 2);
        });
    assertEquals(List.of("+a4=7"), map.takeLog());
    map.refused = -1;
    bench.elapse(100);
    assertEquals(List.of("+a3=1", "+a1=2", "-a2"), map.takeLog());
    assertEquals(Map.of(), bench.faults);
  }

  @Test
  void shouldReadAMapWithoutDesiringWhatItHolds() {
    final DesiredTable table =
        bench.reconciler.addUnread(new DesiredTable(map, 1, 0, Realization.PLAIN, bench));
    for (int number = 0; number < 300; number++) {
      map.set(number, 5);
    }
    bench.change(batch -> {});
    assertFalse(table.isAdopted(), "nothing has asked for it");
    assertEquals("in force", bench.change(batch -> batch.read(table)));
    assertTrue(table.isAdopted());
    assertEquals(0, table.desired());
    assertEquals(300, table.rows());
    assertEquals(300, map.size, "nothing is repaired");
    map.unset(7);
    map.set(8, 6);
    bench.change(batch -> batch.read(table));
    assertEquals(List.of(), map.takeLog());
    bench.change(batch -> bench.put(batch, table, WEAK, 8, 6));
    assertEquals(List.of(), map.takeLog(), "it holds that");
    bench.change(batch -> bench.put(batch, table, WEAK, 7, 5));
    assertEquals(List.of("+a7=5"), map.takeLog(), "it has lost that");
  }

  @Test
  void shouldTellThatAMapCannotBeRead() {
    final DesiredTable table =
        bench.reconciler.addUnread(new DesiredTable(map, 1, 0, Realization.PLAIN, bench));
    map.walkFailure = -Errno.EACCES;
    final List<String> reported = new ArrayList<>();
    submit(
        new TableChanges() {
          @Override
          public boolean apply(Batch batch, int limit) {
            batch.read(table);
            return false;
          }

          @Override
          public boolean endRound(Batch batch, RuntimeException failure) {
            reported.add(batch.refusal(table).getMessage());
            return false;
          }
        });
    bench.run();
    assertEquals(List.of("map a: walk (all): EACCES"), reported);
    assertFalse(table.isAdopted());
    map.walkFailure = 0;
    assertEquals("in force", bench.change(batch -> batch.read(table)));
  }

  @Test
  void shouldNotWriteTheMapOfATableThatIsRemoved() {
    final DesiredTable kept = bench.table(other, 0);
    final DesiredTable table = bench.table(map, 0);
    final PeriodicComparison comparison =
        new PeriodicComparison(List.of(table, kept), bench.repairs);
    map.room = 1;
    bench.change(
        batch -> {
          bench.put(batch, table, WEAK, 1, 1);
          bench.put(batch, table, WEAK, 2, 1);
          bench.put(batch, kept, WEAK, 1, 1);
        });
    map.set(1, 5);
    assertEquals(1, ReconcileBench.round(comparison));
    assertEquals(2, bench.faults.size());
    comparison.step();
    comparison.remove(table);
    bench.reconciler.remove(table);
    assertEquals(Map.of(), bench.faults);
    map.room = 10;
    map.set(3, 3);
    map.takeLog();
    bench.elapse(10_000);
    assertEquals(0, ReconcileBench.round(comparison));
    bench.submit(batch -> bench.put(batch, table, WEAK, 4, 4));
    bench.run();
    assertEquals(List.of(), map.takeLog());
    bench.answers.clear();
    assertEquals("in force", bench.change(batch -> bench.put(batch, kept, WEAK, 2, 2)));
    final NumberedMap next = new NumberedMap("c", 10);
    final DesiredTable added = bench.table(next, 0);
    bench.change(batch -> bench.put(batch, added, WEAK, 1, 1));
    assertEquals("1=1", next.entries());
    assertEquals("1=1 2=2", other.entries());
    assertThrows(IllegalArgumentException.class, () -> bench.reconciler.remove(table));
  }

  /** The number of a removed table is not that of another one before the change has ended. */
  @Test
  void shouldNotTakeRowsOfARemovedTableForThoseOfANewOne() {
    final List<String> order = new ArrayList<>();
    final DesiredTable table = bench.table(map, 0);
    final DesiredTable kept = bench.table(other, 0, noting("b", order));
    final NumberedMap next = new NumberedMap("c", 1000);
    submit(
        new TableChanges() {
          private int applied;

          @Override
          public boolean apply(Batch batch, int limit) {
            if (applied++ == 0) {
              bench.put(batch, table, WEAK, 1, 1);
              return true;
            }
            bench.reconciler.remove(table);
            final DesiredTable added = bench.table(next, 0, noting("c", order));
            bench.put(batch, kept, WEAK, 2, 2);
            bench.put(batch, added, WEAK, 3, 3);
            return false;
          }
        });
    bench.run();
    assertEquals(List.of("in force"), bench.answers);
    assertEquals("", map.entries());
    assertEquals(List.of("b2", "c3"), order, "in the order in which they were put");
  }

  private static Realization noting(String name, List<String> order) {
    return new Realization() {
      @Override
      public void onWritten(
          MutableDirectBuffer key, MutableDirectBuffer before, MutableDirectBuffer after) {
        order.add(name + key.getInt(4));
      }
    };
  }
}
