package agent.reconcile;

import static agent.reconcile.ReconcileBench.WEAK;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.conductor.Work;
import agent.conductor.Work.Progress;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** How much a step does: small changes need no step of their own, and large ones many. */
class ReconcileStepsTest {
  private static final int MANY = 1000;

  private final ReconcileBench bench = new ReconcileBench();
  private final NumberedMap map = new NumberedMap("a", 10 * MANY);
  private final DesiredTable table = bench.table(map, 0);

  @BeforeEach
  void adopt() {
    assertEquals("in force", bench.change(batch -> {}));
  }

  /** A change that puts so many numbers in each of its rounds, each time another value or one. */
  private final class Rounds implements TableChanges {
    private final int first;
    private final int count;
    private final int rounds;
    private final boolean isOther;
    private int round;
    private int next;
    private int applied;

    Rounds(int first, int count, int rounds) {
      this(first, count, rounds, true);
    }

    Rounds(int first, int count, int rounds, boolean isOther) {
      this.first = first;
      this.count = count;
      this.rounds = rounds;
      this.isOther = isOther;
    }

    @Override
    public boolean apply(Batch batch, int limit) {
      for (int i = 0; i < limit && next < count; i++) {
        bench.put(batch, table, WEAK, first + next++, isOther ? round + 1 : 1);
        applied++;
      }
      return next < count;
    }

    @Override
    public boolean endRound(Batch batch, RuntimeException failure) {
      next = 0;
      return ++round < rounds;
    }
  }

  private void realize(String name, TableChanges changes) {
    bench.reconciler.realize(changes, failure -> bench.answers.add(name));
  }

  /** A write counts once, whether the map takes several at a time or not. */
  @Test
  void shouldWriteAsManyEntriesInAStepOfAMapThatTakesThemOneByOne() {
    final List<Integer> together = writesBySteps();
    map.together = 1;
    assertEquals(together, writesBySteps());
  }

  private List<Integer> writesBySteps() {
    final List<Integer> writes = new ArrayList<>();
    map.takeLog();
    bench.reconciler.submit(new Rounds(1, MANY, 1, map.together == 1), failure -> {});
    while (!bench.reconciler.isIdle()) {
      bench.reconciler.step();
      writes.add(map.takeLog().size());
    }
    bench.change(
        batch -> {
          for (int number = 1; number <= MANY; number++) {
            bench.remove(batch, table, WEAK, number);
          }
        });
    return writes;
  }

  @Test
  void shouldRealizeASmallChangeInTheCallThatSubmitsIt() {
    realize("first", new Rounds(1, 2, 3));
    assertEquals(List.of("+a1=1", "+a2=1", "+a1=2", "+a2=2", "+a1=3", "+a2=3"), map.takeLog());
    assertEquals(List.of("first"), bench.answers);
    assertTrue(bench.reconciler.isIdle());
    realize("second", new Rounds(5, 1, 1));
    assertEquals(List.of("first", "second"), bench.answers);
  }

  @Test
  void shouldNotOvertakeWhatWasSubmittedBefore() {
    bench.submit(batch -> bench.put(batch, table, WEAK, 1, 1));
    realize("second", new Rounds(2, 1, 1));
    assertEquals(List.of(), map.takeLog());
    assertFalse(bench.reconciler.isIdle());
    bench.run();
    assertEquals(List.of("+a1=1", "+a2=1"), map.takeLog());
    assertEquals(List.of("in force", "second"), bench.answers);
  }

  /** The change that has ended is answered before the next one begins. */
  @Test
  void shouldNotBeginAChangeThatAWaiterSubmitsWithinItsStep() {
    bench.reconciler.realize(
        new Rounds(1, 1, 1),
        failure -> {
          realize("second", new Rounds(2, 1, 1));
          bench.answers.add("first");
        });
    assertEquals(List.of("+a1=1"), map.takeLog());
    bench.run();
    assertEquals(List.of("+a2=1"), map.takeLog());
    assertEquals(List.of("first", "second"), bench.answers);
  }

  /** Other work, which is done after a step. */
  private static final class OneStep implements Work {
    @Override
    public Progress step() {
      return Progress.DONE;
    }

    @Override
    public void failed(RuntimeException failure) {}
  }

  @Test
  void shouldWriteNoMoreInTheCycleThatSubmitsALargeChange() {
    final int count = 2 * Reconciler.WRITES_PER_STEP; // the first step applies and writes
    bench.conductor.run(() -> realize("large", new Rounds(0, count, 1)));
    int cycles = 0;
    while (bench.answers.isEmpty()) {
      final int before = map.size;
      bench.conductor.doWork();
      assertTrue(map.size > before, "writes in each cycle");
      assertTrue(map.size - before <= Reconciler.WRITES_PER_STEP, "writes of one cycle");
      cycles++;
    }
    assertEquals(3, cycles);
  }

  /** The turn that the command has taken may be in the next cycle only. */
  @Test
  void shouldNotParkBeforeALargeChangeIsInForce() {
    bench.conductor.beginUrgent(new OneStep());
    bench.conductor.run(() -> realize("large", new Rounds(0, MANY, 1)));
    while (bench.answers.isEmpty()) {
      assertTrue(bench.conductor.doWork() > 0);
    }
    assertEquals(MANY, map.size);
  }

  @Test
  void shouldNotApplyMoreInAStepWhereAChangeHasSeveralRounds() {
    bench.change(
        batch -> {
          for (int number = 0; number < 100; number++) {
            bench.put(batch, table, WEAK, number, 1);
          }
        });
    final Rounds changes = new Rounds(0, 100, 20, false);
    bench.reconciler.submit(changes, failure -> bench.answers.add("in force"));
    while (bench.answers.isEmpty()) {
      final int before = changes.applied;
      assertEquals(Progress.WORKED, bench.reconciler.step());
      assertTrue(changes.applied - before <= Reconciler.CHANGES_PER_STEP, "changes of one step");
    }
    assertEquals(20 * 100, changes.applied);
  }

  /** A change that reads a map, and then puts a number. */
  private TableChanges reading(DesiredTable read) {
    return new TableChanges() {
      private boolean wasRead;

      @Override
      public boolean apply(Batch batch, int limit) {
        if (wasRead) {
          bench.put(batch, read, WEAK, 9 * MANY, 1);
        } else {
          batch.read(read);
        }
        return false;
      }

      @Override
      public boolean endRound(Batch batch, RuntimeException failure) {
        wasRead = !wasRead;
        return wasRead;
      }
    };
  }

  private int stepsToRead(int entries) {
    final NumberedMap read = new NumberedMap("b", 10 * MANY);
    for (int number = 0; number < entries; number++) {
      read.set(number, 5);
    }
    final DesiredTable unread =
        bench.reconciler.addUnread(new DesiredTable(read, 1, 0, Realization.PLAIN, bench));
    bench.answers.clear();
    bench.reconciler.submit(reading(unread), failure -> bench.answers.add("in force"));
    int steps = 0;
    while (bench.answers.isEmpty()) {
      assertEquals(Progress.WORKED, bench.reconciler.step());
      steps++;
    }
    assertEquals(entries + 1, read.size);
    return steps;
  }

  @Test
  void shouldReadASmallMapInTheStepThatWritesItAndALargeOneInMany() {
    assertEquals(1, stepsToRead(0));
    assertEquals(1, stepsToRead(50));
    final int steps = stepsToRead(MANY);
    assertTrue(steps >= MANY / Reconciler.WRITES_PER_STEP, steps + " steps");
    assertTrue(steps <= MANY / Reconciler.WRITES_PER_STEP + 4, steps + " steps");
  }

  @Test
  void shouldRefuseWhatIsSubmittedOnceTheConductorIsClosed() {
    bench.conductor.onClose();
    bench.submit(batch -> bench.put(batch, table, WEAK, 1, 1));
    realize("refused", new Rounds(2, 1, 1));
    assertEquals(List.of("test-conductor is closed", "refused"), bench.answers);
    assertEquals(List.of(), map.takeLog());
  }
}
