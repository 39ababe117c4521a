package agent.reconcile;

import static agent.reconcile.ReconcileBench.STRONG;
import static agent.reconcile.ReconcileBench.WEAK;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.Errno;
import agent.testkit.HeapAllocation;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.agrona.DirectBuffer;
import org.agrona.MutableDirectBuffer;
import org.junit.jupiter.api.Test;

class ReconcilerTest {
  private static final int MANY = 100_000;

  private final ReconcileBench bench = new ReconcileBench();
  private final NumberedMap map = new NumberedMap("a", MANY + 1);

  @Test
  void shouldRealizeTheStrongestSourceAndReturnToTheNext() {
    final DesiredTable table = bench.table(map, 0);
    assertEquals("in force", bench.change(batch -> bench.put(batch, table, WEAK, 1, 10)));
    bench.change(batch -> bench.put(batch, table, STRONG, 1, 11));
    assertEquals("1=11", map.entries());
    bench.change(batch -> bench.put(batch, table, WEAK, 1, 12));
    assertEquals("1=11", map.entries());
    bench.change(batch -> bench.remove(batch, table, STRONG, 1));
    assertEquals("1=12", map.entries());
    bench.change(batch -> bench.remove(batch, table, WEAK, 1));
    assertEquals("", map.entries());
    assertEquals(List.of("+a1=10", "+a1=11", "+a1=12", "-a1"), map.takeLog());
  }

  @Test
  void shouldWriteNothingWhereNothingChanges() {
    final DesiredTable table = bench.table(map, 0);
    bench.change(batch -> bench.put(batch, table, WEAK, 1, 10));
    map.takeLog();
    assertEquals("in force", bench.change(batch -> bench.put(batch, table, WEAK, 1, 10)));
    bench.change(batch -> bench.put(batch, table, STRONG, 1, 10));
    bench.change(batch -> bench.remove(batch, table, WEAK, 2));
    bench.change(
        batch -> {
          bench.put(batch, table, WEAK, 3, 30);
          bench.remove(batch, table, WEAK, 3);
        });
    assertEquals(List.of(), map.takeLog());
    bench.change(batch -> bench.put(batch, table, WEAK, 4, 40));
    assertEquals(2, table.rows(), "the row of an entry that is gone is used again");
  }

  @Test
  void shouldNotRemoveWhatAnotherOwnerHasPutSince() {
    final DesiredTable table = bench.table(map, 0);
    bench.change(batch -> bench.put(batch, table, 7, WEAK, 1, 10));
    bench.change(batch -> bench.put(batch, table, 8, WEAK, 1, 20));
    bench.change(batch -> bench.remove(batch, table, 7, WEAK, 1));
    assertEquals("1=20", map.entries());
    bench.change(batch -> bench.remove(batch, table, 8, WEAK, 1));
    assertEquals("", map.entries());
  }

  /** What is referred to is there first, and goes last. */
  @Test
  void shouldAddBeforeItRemovesInTheOrderOfRanks() {
    final NumberedMap other = new NumberedMap("b", 10);
    final List<String> log = new ArrayList<>();
    final DesiredTable referring = bench.table(map, 1, logging(log, "a"));
    final DesiredTable referred = bench.table(other, 0, logging(log, "b"));
    bench.change(
        batch -> {
          bench.put(batch, referring, WEAK, 1, 10);
          bench.put(batch, referred, WEAK, 1, 10);
        });
    assertEquals(List.of("+b1", "+a1", "end"), ends(log));
    bench.change(
        batch -> {
          bench.remove(batch, referred, WEAK, 1);
          bench.remove(batch, referring, WEAK, 1);
          bench.put(batch, referring, WEAK, 3, 10);
          bench.put(batch, referred, WEAK, 3, 10);
          bench.put(batch, referring, WEAK, 2, 10);
        });
    assertEquals(List.of("+b3", "+a3", "+a2", "-a1", "-b1", "end"), ends(log));
  }

  /** Entries of one table that follow each other are written together; the order stays. */
  @Test
  void shouldWriteEachEntryToTheMapOfItsTable() {
    final NumberedMap other = new NumberedMap("b", 10);
    final DesiredTable first = bench.table(map, 0);
    final DesiredTable second = bench.table(other, 0);
    bench.change(
        batch -> {
          bench.put(batch, first, WEAK, 1, 10);
          bench.put(batch, second, WEAK, 2, 20);
          bench.put(batch, second, WEAK, 3, 30);
          bench.put(batch, first, WEAK, 4, 40);
        });
    assertEquals("1=10 4=40", map.entries());
    assertEquals("2=20 3=30", other.entries());
  }

  /** Returns what was written, and once that generations were raised after it. */
  private static List<String> ends(List<String> log) {
    final List<String> taken = new ArrayList<>(log);
    log.clear();
    while (taken.size() > 1
        && taken.getLast().equals("end")
        && taken.get(taken.size() - 2).equals("end")) {
      taken.removeLast();
    }
    return taken;
  }

  private static Realization logging(List<String> log, String name) {
    return new Realization() {
      @Override
      public void onWritten(
          MutableDirectBuffer key, MutableDirectBuffer before, MutableDirectBuffer after) {
        log.add((after == null ? "-" : "+") + name + key.getInt(4));
      }

      @Override
      public void onStepEnd() {
        log.add("end");
      }
    };
  }

  @Test
  void shouldTellWhatTheMapHeldAndHolds() {
    final List<String> noted = new ArrayList<>();
    final DesiredTable table =
        bench.table(
            map,
            0,
            new Realization() {
              @Override
              public void onWritten(
                  MutableDirectBuffer key, MutableDirectBuffer before, MutableDirectBuffer after) {
                noted.add(text(before) + "->" + text(after));
              }

              private String text(DirectBuffer value) {
                return value == null ? "" : Integer.toString(value.getInt(0));
              }
            });
    map.set(1, 9);
    bench.change(batch -> bench.put(batch, table, WEAK, 1, 10));
    bench.change(batch -> bench.remove(batch, table, WEAK, 1));
    bench.change(batch -> bench.put(batch, table, WEAK, 1, 11));
    assertEquals(List.of("9->10", "10->", "->11"), noted);
  }

  /** Whoever is answered finds the verdicts of before invalid. */
  @Test
  void shouldEndTheStepBeforeItAnswers() {
    final List<String> log = new ArrayList<>();
    final DesiredTable table = bench.table(map, 0, logging(log, "a"));
    bench.reconciler.submit(
        (batch, limit) -> {
          bench.put(batch, table, WEAK, 1, 10);
          return false;
        },
        failure -> log.add("answer"));
    bench.run();
    assertEquals(List.of("+a1", "end", "answer"), log.subList(0, 3));
  }

  @Test
  void shouldReviewEntriesWhoseRefinedValueChanges() {
    final AtomicInteger added = new AtomicInteger();
    final DesiredTable table =
        bench.table(
            map,
            0,
            new Realization() {
              @Override
              public void refine(int source, MutableDirectBuffer key, MutableDirectBuffer value) {
                if (source == WEAK && key.getInt(4) < 10) {
                  value.putInt(0, value.getInt(0) + added.get());
                }
              }
            });
    bench.change(
        batch -> {
          bench.put(batch, table, WEAK, 1, 10);
          bench.put(batch, table, STRONG, 2, 20);
          bench.put(batch, table, WEAK, 30, 300);
        });
    map.takeLog();
    added.set(5);
    bench.change(batch -> batch.review(table));
    assertEquals(List.of("+a1=15"), map.takeLog());
  }

  /** Each command waits for one step at most, whatever is changed; counted, not timed. */
  @Test
  void shouldLeaveEveryCommandAtMostOneStepBehind() {
    final DesiredTable table = bench.table(map, 0);
    map.isLogged = false;
    final int[] next = {0};
    bench.reconciler.submit(
        (batch, limit) -> {
          final int end = Math.min(MANY, next[0] + limit);
          for (; next[0] < end; next[0]++) {
            bench.put(batch, table, WEAK, next[0], 7);
          }
          return next[0] < MANY;
        },
        failure -> bench.answers.add("in force"));
    int cycles = 0;
    int commands = 0;
    while (bench.answers.isEmpty()) {
      final int before = map.size;
      final int applied = next[0];
      final AtomicInteger command = new AtomicInteger();
      bench.conductor.run(command::incrementAndGet);
      bench.conductor.doWork();
      assertEquals(1, command.get(), "the command waits for one step");
      commands++;
      cycles++;
      assertTrue(map.size - before <= Reconciler.WRITES_PER_STEP, "writes of one step");
      assertTrue(next[0] - applied <= Reconciler.CHANGES_PER_STEP, "changes of one step");
    }
    assertEquals(MANY, map.size);
    assertEquals(cycles, commands);
    final int least = MANY / Reconciler.CHANGES_PER_STEP + MANY / Reconciler.WRITES_PER_STEP;
    assertTrue(cycles >= least, cycles + " steps");
    assertTrue(cycles <= 2 * least, cycles + " steps");
  }

  @Test
  void shouldAllocateNothingOnceItHasGrown() {
    final DesiredTable table = bench.table(map, 0);
    map.isLogged = false;
    final int[] value = {0};
    final int[] next = {0};
    final int[] answers = {0};
    final TableChanges puts =
        (batch, limit) -> {
          final int end = Math.min(1000, next[0] + limit);
          for (; next[0] < end; next[0]++) {
            bench.put(batch, table, WEAK, next[0], value[0]);
          }
          return next[0] < 1000;
        };
    final TableChanges removals =
        (batch, limit) -> {
          final int end = Math.min(500, next[0] + limit);
          for (; next[0] < end; next[0]++) {
            bench.remove(batch, table, WEAK, next[0]);
          }
          return next[0] < 500;
        };
    final Waiter waiter = failure -> answers[0] += failure == null ? 1 : 0;
    final PeriodicComparison comparison = new PeriodicComparison(List.of(table), bench.repairs);
    final Runnable changes =
        () -> {
          value[0]++;
          next[0] = 0;
          bench.reconciler.submit(puts, waiter);
          while (bench.reconciler.step() != agent.conductor.Work.Progress.WAITING) {}
          next[0] = 0;
          bench.reconciler.submit(removals, waiter);
          while (bench.reconciler.step() != agent.conductor.Work.Progress.WAITING) {}
          while (comparison.step() != PeriodicComparison.END_OF_ROUND) {}
        };
    changes.run();
    assertEquals(0, HeapAllocation.steady(100, changes));
    assertTrue(answers[0] >= 200, "changes in force");
    assertEquals(500, map.size);
    assertEquals(0, bench.repaired());
  }

  @Test
  void shouldNameWhatIsRefusedAndRetryItInOrder() {
    final DesiredTable table = bench.table(map, 0);
    map.room = 2;
    final String answer =
        bench.change(
            batch -> {
              for (int number = 1; number <= 4; number++) {
                bench.put(batch, table, WEAK, number, 10 * number);
              }
            });
    assertEquals("map a: update (a3): ENOSPC", answer);
    assertEquals(
        Map.of(
            "entries of map a", "degraded: 2 not written, and retried: map a: update (a3): ENOSPC"),
        bench.faults);
    map.takeLog();
    bench.elapse(99);
    map.room = 4;
    assertEquals(List.of(), map.takeLog(), "it is not due");
    bench.elapse(1);
    assertEquals(List.of("+a3=30", "+a4=40"), map.takeLog());
    assertEquals(Map.of(), bench.faults);
  }

  @Test
  void shouldRetryLessAndLessOften() {
    final DesiredTable table = bench.table(map, 0);
    map.room = 0;
    bench.change(batch -> bench.put(batch, table, WEAK, 1, 10));
    bench.elapse(100);
    map.room = 1;
    bench.elapse(199);
    assertEquals(0, map.size);
    assertEquals(1_000_000, bench.reconciler.pauseNs());
    bench.elapse(1);
    assertEquals(1, map.size);
    assertEquals(Map.of(), bench.faults);
  }

  /** A narrower prefix that is refused must not have the identity of a wider one behind it. */
  @Test
  void shouldHoldBackNewEntriesBehindARefusedOne() {
    final DesiredTable table = bench.table(map, 0);
    bench.change(batch -> bench.put(batch, table, WEAK, 2, 20));
    map.takeLog();
    map.refused = 3;
    final String answer =
        bench.change(
            batch -> {
              bench.put(batch, table, WEAK, 3, 30);
              bench.put(batch, table, WEAK, 4, 40);
              bench.put(batch, table, WEAK, 2, 21);
            });
    assertEquals("map a: update (a3): ENOSPC", answer);
    assertEquals(List.of("+a2=21"), map.takeLog(), "the map holds this one in any case");
    assertEquals(
        "in force",
        bench.change(batch -> bench.put(batch, table, WEAK, 5, 50)),
        "what is refused fails the change that wanted it alone");
    assertEquals(List.of("+a5=50"), map.takeLog());
    map.refused = -1;
    bench.change(batch -> bench.put(batch, table, WEAK, 2, 22));
    assertEquals(List.of("+a3=30", "+a4=40", "+a2=22"), map.takeLog());
    assertEquals(Map.of(), bench.faults);
  }

  @Test
  void shouldMakeRoomByRemovalsBesideARefusedEntry() {
    final DesiredTable table = bench.table(map, 0);
    bench.change(batch -> bench.put(batch, table, WEAK, 1, 10));
    map.room = 1;
    map.takeLog();
    bench.change(
        batch -> {
          bench.put(batch, table, WEAK, 3, 30);
          bench.put(batch, table, WEAK, 4, 40);
          bench.remove(batch, table, WEAK, 1);
        });
    assertEquals(List.of("-a1"), map.takeLog());
    bench.change(batch -> bench.remove(batch, table, WEAK, 4));
    assertEquals(List.of("+a3=30"), map.takeLog(), "it is retried before the next change");
    bench.elapse(10_000);
    assertEquals("3=30", map.entries());
    assertEquals(Map.of(), bench.faults);
    bench.change(batch -> bench.put(batch, table, WEAK, 5, 50));
    assertEquals(3, table.rows(), "the row of an entry that was never written is used again");
  }

  @Test
  void shouldHoldBackEntriesThatMayReferToARefusedOne() {
    final NumberedMap other = new NumberedMap("b", 10);
    final DesiredTable referring = bench.table(map, 1);
    final DesiredTable referred = bench.table(other, 0);
    other.room = 0;
    bench.change(
        batch -> {
          bench.put(batch, referring, WEAK, 1, 10);
          bench.put(batch, referred, WEAK, 1, 10);
        });
    assertEquals("", map.entries());
    other.room = 1;
    bench.elapse(100);
    assertEquals("1=10", other.entries());
    assertEquals("1=10", map.entries());
  }

  /** A mirror shows a refused entry until the map has it, or no source wants it any more. */
  @Test
  void shouldGiveUpARefusedEntryThatIsNoLongerWanted() {
    final DesiredTable table = bench.table(map, 0);
    bench.change(batch -> bench.put(batch, table, WEAK, 1, 10));
    map.room = 1;
    bench.change(batch -> bench.put(batch, table, WEAK, 2, 20));
    map.refused = 1;
    bench.change(batch -> bench.put(batch, table, WEAK, 1, 11));
    assertEquals(Set.of(1, 2), bench.refused(map));
    bench.change(batch -> bench.remove(batch, table, WEAK, 2));
    assertEquals(Set.of(1), bench.refused(map));
    map.refused = -1;
    map.takeLog();
    bench.change(batch -> bench.put(batch, table, WEAK, 1, 10));
    assertEquals(List.of("+a1=11", "+a1=10"), map.takeLog(), "retried before the change");
    map.refused = 1;
    bench.change(batch -> bench.put(batch, table, WEAK, 1, 12));
    bench.change(batch -> bench.put(batch, table, WEAK, 1, 10));
    assertEquals(Set.of(1), bench.refused(map), "the last write of it was refused");
    map.refused = -1;
    bench.elapse(10_000);
    assertEquals(Set.of(), bench.refused(map));
    assertEquals("1=10", map.entries());
    assertEquals(Map.of(), bench.faults);
  }

  /** Puts three entries, and others where one is refused. */
  private final class Replaced implements TableChanges {
    final DesiredTable first;
    final DesiredTable second;
    int refusals;

    Replaced(DesiredTable first, DesiredTable second) {
      this.first = first;
      this.second = second;
    }

    @Override
    public boolean apply(Batch batch, int limit) {
      if (refusals == 0) {
        bench.put(batch, first, WEAK, 1, 11);
        bench.put(batch, first, WEAK, 2, 20);
        bench.put(batch, second, WEAK, 3, 30);
        bench.remove(batch, second, WEAK, 4);
      } else {
        bench.put(batch, first, WEAK, 1, 10);
        bench.remove(batch, first, WEAK, 2);
        bench.remove(batch, second, WEAK, 3);
        bench.put(batch, second, WEAK, 4, 40);
      }
      return false;
    }

    @Override
    public boolean replaces(RuntimeException refusal) {
      return refusals++ == 0;
    }

    String answer() {
      bench.reconciler.submit(
          this, failure -> bench.answers.add(failure == null ? "in force" : failure.getMessage()));
      bench.run();
      return bench.answers.removeLast();
    }
  }

  /** Nothing is removed before, and nothing is left of what was written. */
  @Test
  void shouldReplaceAChangeThatIsRefused() {
    final NumberedMap other = new NumberedMap("b", 10);
    final DesiredTable first = bench.table(map, 0);
    final DesiredTable second = bench.table(other, 1);
    bench.change(batch -> bench.put(batch, first, WEAK, 1, 10));
    bench.change(batch -> bench.put(batch, second, WEAK, 4, 40));
    map.takeLog();
    other.takeLog();
    other.refused = 3;
    assertEquals("in force", new Replaced(first, second).answer());
    assertEquals(List.of("+a1=11", "+a2=20", "+a1=10", "-a2"), map.takeLog());
    assertEquals(List.of(), other.takeLog());
    assertEquals(Set.of(), bench.refused(other));
    assertEquals(Map.of(), bench.faults);
    other.refused = -1;
    assertEquals("in force", new Replaced(first, second).answer());
    assertEquals("1=11 2=20", map.entries());
    assertEquals("3=30", other.entries());
  }

  @Test
  void shouldRetryWhatIsRefusedOfTheReplacement() {
    final DesiredTable table = bench.table(map, 0);
    final DesiredTable second = bench.table(new NumberedMap("b", 10), 1);
    bench.change(batch -> bench.put(batch, table, WEAK, 1, 10));
    map.refused = 1;
    final Replaced change = new Replaced(table, second);
    assertEquals("map a: update (a1): ENOSPC", change.answer());
    assertEquals(Set.of("entries of map a", "entries of map b"), bench.faults.keySet());
    map.refused = -1;
    bench.elapse(10_000);
    assertEquals("1=10", map.entries());
    assertEquals(Set.of(), bench.refused(map));
    assertEquals(Map.of(), bench.faults);
  }

  @Test
  void shouldKeepWhatTheMapHeldUntilAllSourcesHaveSpoken() {
    map.set(1, 10);
    map.set(2, 20);
    map.set(3, 30);
    map.set(6, 60);
    final DesiredTable table = bench.table(map, 0);
    bench.change(
        batch -> {
          bench.put(batch, table, WEAK, 1, 10);
          bench.put(batch, table, WEAK, 4, 40);
          batch.complete(table, WEAK);
        });
    assertEquals(List.of("+a4=40"), map.takeLog());
    bench.change(batch -> bench.remove(batch, table, STRONG, 2));
    assertEquals(List.of("-a2"), map.takeLog(), "a source has spoken of it");
    bench.change(batch -> bench.put(batch, table, STRONG, 6, 61));
    bench.change(batch -> bench.remove(batch, table, STRONG, 6));
    assertEquals(List.of("+a6=61", "-a6"), map.takeLog(), "it does not return");
    assertEquals(0, ReconcileBench.round(new PeriodicComparison(List.of(table), bench.repairs)));
    assertEquals("1=10 3=30 4=40", map.entries());
    bench.change(
        batch -> {
          bench.put(batch, table, STRONG, 5, 50);
          batch.complete(table, STRONG);
        });
    assertEquals(List.of("+a5=50", "-a3"), map.takeLog());
    assertFalse(table.hasRestored());
  }

  @Test
  void shouldRealizeChangesOfAMapThatCannotBeReadAndTellIt() {
    final DesiredTable table = bench.table(map, 0);
    map.walkFailure = -Errno.EACCES;
    assertEquals(
        "map a: walk (all): EACCES", bench.change(batch -> bench.put(batch, table, WEAK, 1, 10)));
    assertEquals("1=10", map.entries());
    map.walkFailure = 0;
    map.set(2, 20);
    assertEquals("in force", bench.change(batch -> {}));
    assertTrue(table.isAdopted());
    assertEquals("1=10 2=20", map.entries());
  }

  @Test
  void shouldCompareTheWholeMapWhereAChangeAsksForIt() {
    final DesiredTable table = bench.table(map, 0);
    bench.change(batch -> bench.put(batch, table, WEAK, 1, 10));
    map.unset(1);
    map.set(3, 30);
    bench.change(
        batch -> {
          bench.put(batch, table, WEAK, 2, 20);
          batch.compare(table);
        });
    assertEquals("1=10 2=20", map.entries());
    assertEquals(0, bench.repaired(), "it was asked for, and is no fault");
    assertEquals(Map.of(), bench.faults);
  }

  @Test
  void shouldFailWhatWaitsWhenTheConductorIsClosed() {
    final DesiredTable table = bench.table(map, 0);
    bench.reconciler.submit((batch, limit) -> true, failure -> bench.answers.add("closed"));
    bench.submit(batch -> bench.put(batch, table, WEAK, 1, 10));
    bench.conductor.doWork();
    bench.conductor.onClose();
    assertEquals(List.of("closed", "test-conductor is closed"), bench.answers);
  }

  @Test
  void shouldCompleteWithTheNextChangeWhatAnErrorLeft() {
    final AtomicBoolean fails = new AtomicBoolean(true);
    final DesiredTable table = bench.failingTable(map, fails);
    assertEquals(
        "a bug",
        bench.change(
            batch -> {
              bench.put(batch, table, WEAK, 1, 10);
              bench.put(batch, table, WEAK, 2, 20);
            }));
    fails.set(false);
    assertEquals("in force", bench.change(batch -> {}));
    assertEquals("1=10 2=20", map.entries());
  }
}
