package agent.reconcile;

import static agent.reconcile.ReconcileBench.WEAK;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.Errno;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.agrona.DirectBuffer;
import org.agrona.MutableDirectBuffer;
import org.junit.jupiter.api.Test;

class PeriodicComparisonTest {
  private static final int ENTRIES = 1000;

  private final ReconcileBench bench = new ReconcileBench();
  private final NumberedMap map = new NumberedMap("a", 10_000);
  private final DesiredTable table = bench.table(map, 0);
  private final PeriodicComparison comparison =
      new PeriodicComparison(List.of(table), bench.repairs);

  private void fill() {
    bench.change(
        batch -> {
          for (int number = 0; number < ENTRIES; number++) {
            bench.put(batch, table, WEAK, number, 7);
          }
        });
  }

  @Test
  void shouldCompareNothingBeforeTheMapIsKnown() {
    map.set(1, 10);
    assertEquals(0, ReconcileBench.round(comparison));
    assertEquals("1=10", map.entries());
  }

  @Test
  void shouldRepairCountAndReportUntilNothingIsFound() {
    fill();
    assertEquals(0, ReconcileBench.round(comparison));
    map.unset(5);
    map.set(6, 66);
    map.set(5000, 1);
    assertEquals(3, ReconcileBench.round(comparison));
    assertEquals(3, bench.repaired());
    assertEquals(
        Map.of(
            "map a",
            "degraded: 1 entries missing, 1 unexpected, 1 with a wrong value;"
                + " first: wrong value (a6)"),
        bench.faults);
    assertEquals(ENTRIES, map.size);
    assertTrue(map.held[5] && map.values[6] == 7 && !map.held[5000]);
    assertEquals(0, ReconcileBench.round(comparison));
    assertEquals(Map.of(), bench.faults);
  }

  @Test
  void shouldNameEachEntryThatIsRepairedWithBothValues() {
    final List<String> repaired = new ArrayList<>();
    final NumberedMap other = new NumberedMap("b", 10);
    final DesiredTable named =
        bench.table(
            other,
            0,
            new Realization() {
              @Override
              public void onEntryRepaired(
                  MutableDirectBuffer key, DirectBuffer found, DirectBuffer held) {
                repaired.add(key.getInt(4) + ": " + text(found) + " to " + text(held));
              }
            });
    bench.change(
        batch -> {
          bench.put(batch, named, WEAK, 1, 10);
          bench.put(batch, named, WEAK, 2, 20);
          bench.put(batch, named, WEAK, 3, 30);
        });
    other.unset(1);
    other.set(2, 21);
    other.set(7, 70);
    other.set(8, 80);
    final PeriodicComparison both = new PeriodicComparison(List.of(table, named), bench.repairs);
    assertEquals(4, ReconcileBench.round(both));
    assertEquals(List.of("2: 21 to 20", "7: 70 to -", "8: 80 to -", "1: - to 10"), repaired);
    assertEquals(0, ReconcileBench.round(both));
    assertEquals(4, repaired.size());
  }

  private static String text(DirectBuffer value) {
    return value == null ? "-" : Integer.toString(value.getInt(0));
  }

  /** An array of many slots and few entries is not read in one step. */
  @Test
  void shouldCountTheReadingOfABatchAsSoManyEntries() {
    bench.change(
        batch -> {
          bench.put(batch, table, WEAK, 1, 7);
          bench.put(batch, table, WEAK, 2, 7);
        });
    map.batchCost = 61;
    final int steps = stepsOfRound();
    map.batchCost = 62; // with two entries as much as a step compares
    assertEquals(steps + 1, stepsOfRound());
  }

  private int stepsOfRound() {
    int steps = 1;
    while (comparison.step() != PeriodicComparison.END_OF_ROUND) {
      steps++;
    }
    return steps;
  }

  @Test
  void shouldReportWhatCannotBeRepaired() {
    fill();
    map.unset(5);
    map.room = ENTRIES - 1;
    ReconcileBench.round(comparison);
    assertEquals(
        Map.of("map a", "failed: repair failed: map a: repair (a5): ENOSPC"), bench.faults);
    map.walkFailure = -Errno.EACCES;
    ReconcileBench.round(comparison);
    assertEquals(Map.of("map a", "failed: repair failed: map a: walk (all): EACCES"), bench.faults);
    map.walkFailure = 0;
    map.room = ENTRIES;
    assertEquals(1, ReconcileBench.round(comparison));
    ReconcileBench.round(comparison);
    assertEquals(Map.of(), bench.faults);
  }

  /** What is desired and not there is read by others as a refused write is. */
  @Test
  void shouldHoldARefusedRepairAmongTheRefusedWrites() {
    fill();
    map.unset(5);
    map.room = ENTRIES - 1;
    ReconcileBench.round(comparison);
    assertEquals(Set.of(5), bench.refused(map));
    assertEquals("update: ENOSPC", bench.refused.of("a").getFirst().error());
    map.room = ENTRIES;
    ReconcileBench.round(comparison);
    assertEquals(Set.of(), bench.refused(map));
    map.set(7, 1);
    map.refused = 7;
    ReconcileBench.round(comparison);
    assertEquals(Set.of(7), bench.refused(map));
    map.refused = -1;
    ReconcileBench.round(comparison);
    assertEquals(Set.of(), bench.refused(map));
  }

  /** Another process may have written what the repair could not. */
  @Test
  void shouldEndARefusalWhereTheMapHasTheValueAgain() {
    fill();
    final int value = map.values[5];
    map.set(5, value + 1);
    map.refused = 5;
    ReconcileBench.round(comparison);
    assertEquals(Set.of(5), bench.refused(map));
    map.set(5, value);
    ReconcileBench.round(comparison);
    assertEquals(Set.of(), bench.refused(map));
    assertEquals(0, bench.refused.size());
  }

  /** The next change of such a row writes it, and does not wait for a comparison. */
  @Test
  void shouldWriteWhatCouldNotBeRepairedWithTheNextChangeOfTheRow() {
    fill();
    final int value = map.values[5];
    map.unset(5);
    map.room = ENTRIES - 1;
    ReconcileBench.round(comparison);
    map.room = ENTRIES;
    bench.change(batch -> bench.put(batch, table, WEAK, 5, value));
    assertTrue(map.held[5]);
    assertEquals(Set.of(), bench.refused(map));
  }

  /** Between two steps of a change the map differs from the table, and that is no fault. */
  @Test
  void shouldFindNoFaultInWhatIsStillToBeWritten() {
    fill();
    final int[] next = {0};
    bench.reconciler.submit(
        (batch, limit) -> {
          final int end = Math.min(3 * ENTRIES, next[0] + limit);
          for (; next[0] < end; next[0]++) {
            if (next[0] % 3 == 0) {
              bench.remove(batch, table, WEAK, next[0] / 3);
            } else {
              bench.put(batch, table, WEAK, ENTRIES / 2 + next[0], 8);
            }
          }
          return next[0] < 3 * ENTRIES;
        },
        failure -> bench.answers.add("in force"));
    int rounds = 0;
    while (bench.answers.isEmpty()) {
      bench.reconciler.step();
      assertEquals(0, ReconcileBench.round(comparison));
      rounds++;
    }
    assertTrue(rounds > 10, rounds + " rounds");
    assertEquals(0, bench.repaired());
    assertEquals(Map.of(), bench.faults);
  }

  /** What is refused is retried; its former value is not written meanwhile. */
  @Test
  void shouldLeaveARefusedEntryToItsRetry() {
    fill();
    map.refused = 5;
    bench.change(batch -> bench.put(batch, table, WEAK, 5, 8));
    final Map<String, String> refused = Map.copyOf(bench.faults);
    map.set(5, 9);
    assertEquals(0, ReconcileBench.round(comparison));
    assertEquals(refused, bench.faults);
    map.unset(5);
    assertEquals(0, ReconcileBench.round(comparison));
    assertEquals(refused, bench.faults);
    map.refused = -1;
    bench.elapse(10_000);
    assertEquals(8, map.values[5]);
    assertEquals(Map.of(), bench.faults);
    assertEquals(0, bench.repaired());
  }

  /** In each step, the entry at which the walk stands is removed, and another one comes. */
  @Test
  void shouldNotStarveUnderConstantChanges() {
    fill();
    map.isLogged = false;
    map.unset(ENTRIES - 1); // at the end of the walk
    map.set(ENTRIES + 5000, 1); // behind it
    int step = comparison.step();
    int steps = 0;
    while (step != PeriodicComparison.END_OF_ROUND) {
      final int removed = Math.max(0, map.position);
      final int added = 2000 + steps;
      bench.change(
          batch -> {
            bench.remove(batch, table, WEAK, removed);
            bench.put(batch, table, WEAK, added, 9);
          });
      step = comparison.step();
      steps++;
    }
    assertEquals(0, map.restarts, "no walk began again");
    assertEquals(2, bench.repaired(), "one round has found both");
    assertTrue(map.held[ENTRIES - 1] && !map.held[ENTRIES + 5000]);
    assertTrue(steps <= 2 * ENTRIES / 64 + 10, steps + " steps");
  }

  @Test
  void shouldGiveWayToAChangeThatComparesTheMap() {
    fill();
    map.set(5000, 1);
    comparison.step();
    bench.change(batch -> batch.compare(table));
    assertEquals(0, ReconcileBench.round(comparison), "the change has repaired it");
    assertEquals(0, bench.repaired());
    map.set(5000, 1);
    assertEquals(1, ReconcileBench.round(comparison));
    comparison.close();
    assertEquals(0, ReconcileBench.round(comparison));
  }

  @Test
  void shouldNotBeginWhileAChangeComparesTheMap() {
    fill();
    map.set(5000, 1);
    bench.submit(batch -> batch.compare(table));
    bench.reconciler.step();
    bench.reconciler.step();
    assertTrue(table.comparison().isRunning());
    assertEquals(0, ReconcileBench.round(comparison));
    bench.run();
    assertEquals(ENTRIES, map.size);
    assertEquals(0, bench.repaired(), "the change has repaired it");
    assertEquals(Map.of(), bench.faults);
  }

  @Test
  void shouldPassOnThatEntriesWereRepairedOnceForEachStepThatRepairs() {
    final int[] repairs = new int[1];
    final NumberedMap other = new NumberedMap("b", 10);
    final DesiredTable notified =
        bench.table(
            other,
            0,
            new Realization() {
              @Override
              public void onRepaired() {
                repairs[0]++;
              }
            });
    bench.change(batch -> bench.put(batch, notified, WEAK, 1, 7));
    comparison.add(notified);
    ReconcileBench.round(comparison);
    assertEquals(0, repairs[0]);
    other.set(1, 8);
    other.set(2, 8);
    assertEquals(2, ReconcileBench.round(comparison));
    assertEquals(1, repairs[0]);
  }
}
