package agent.reconcile;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.testkit.HeapAllocation;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class DesiredWordsTest {
  private static final int WORDS = 40_000;
  private static final int STEPS = 3; // of 16,384 words

  private final ReconcileBench bench = new ReconcileBench();
  private final long[] planned = planned();
  private final Memory memory = new Memory();
  private final DesiredWords words = new DesiredWords("a", memory, copyOf(planned), bench);
  private final PeriodicComparison comparison = new PeriodicComparison(List.of(), bench.repairs);

  /** An array in memory that counts what is written. */
  private static final class Memory implements WordArray {
    final long[] held = new long[WORDS];
    int writes;

    @Override
    public int count() {
      return held.length;
    }

    @Override
    public long word(int index) {
      return held[index];
    }

    @Override
    public void word(int index, long bits) {
      held[index] = bits;
      writes++;
    }
  }

  private static long[] planned() {
    final long[] words = new long[WORDS];
    for (int i = 0; i < words.length; i += 2) {
      words[i] = i + 1L;
    }
    return words;
  }

  private static WordPlan copyOf(long[] from) {
    return (index, to, count) -> System.arraycopy(from, index, to, 0, count);
  }

  private void begin() {
    words.write(0, WORDS);
    comparison.add(words);
    words.resume();
    memory.writes = 0;
  }

  private int stepsOfRound() {
    int steps = 0;
    while (comparison.step() != PeriodicComparison.END_OF_ROUND) {
      steps++;
    }
    return steps;
  }

  @Test
  void shouldWriteThoseWordsOfASliceThatDiffer() {
    assertEquals(1000, words.write(0, 1000));
    assertEquals(500, memory.writes);
    assertEquals(1000, lastWritten() + 2);
    assertEquals(1007, words.write(1000, 7));
    assertEquals(504, memory.writes);
    assertEquals(WORDS, words.write(1007, WORDS));
    assertArrayEquals(planned, memory.held);
    assertEquals(WORDS / 2, memory.writes);
    words.write(0, WORDS);
    assertEquals(WORDS / 2, memory.writes, "none differs");
  }

  @Test
  void shouldFillANewArrayInSlices() {
    assertEquals(1000, words.fill(0, 1000));
    assertEquals(1000, lastWritten() + 2);
    assertEquals(1007, words.fill(1000, 7));
    assertEquals(WORDS, words.fill(1007, WORDS));
    assertArrayEquals(planned, memory.held);
    assertEquals(WORDS / 2, memory.writes, "zeros are there already");
  }

  private int lastWritten() {
    int last = WORDS - 1;
    while (memory.held[last] == 0) {
      last--;
    }
    return last;
  }

  @Test
  void shouldRepairCountAndReportUntilNothingIsFound() {
    begin();
    assertEquals(STEPS, stepsOfRound());
    for (final int changed : new int[] {1000, 16_383, 16_384, WORDS - 1}) {
      memory.held[changed] = -1;
    }
    assertEquals(4, ReconcileBench.round(comparison));
    assertArrayEquals(planned, memory.held);
    assertEquals(4, bench.repaired());
    assertEquals(Map.of("map a", "degraded: 4 words wrong; first: word 1000"), bench.faults);
    memory.held[9] = 0;
    assertEquals(0, ReconcileBench.round(comparison));
    assertEquals(Map.of(), bench.faults);
  }

  /**
   * The plan is another one meanwhile, also where a comparison of the former one is in progress.
   */
  @Test
  void shouldCompareNothingWhileThePlanChanges() {
    begin();
    memory.held[0] = -1;
    assertEquals(1, comparison.step());
    words.suspend();
    planned[0] = 4711;
    planned[WORDS - 1] = 4711;
    assertEquals(0, ReconcileBench.round(comparison));
    assertEquals(0, ReconcileBench.round(comparison));
    assertEquals(1, memory.held[0]);
    words.write(0, WORDS);
    words.resume();
    assertEquals(1, bench.faults.size(), "what was found is reported until a whole round is right");
    assertEquals(STEPS, stepsOfRound());
    assertEquals(Map.of(), bench.faults);
    assertEquals(1, bench.repaired(), "changes of the agent are no differences");
    assertEquals(4711, memory.held[WORDS - 1]);
  }

  @Test
  void shouldBeginAnewWhereTheComparisonWasSuspendedBetweenTwoSteps() {
    begin();
    comparison.step();
    words.suspend();
    words.resume();
    memory.held[1] = 1;
    assertEquals(0, comparison.step(), "it gives way");
    assertEquals(PeriodicComparison.END_OF_ROUND, comparison.step());
    assertEquals(1, ReconcileBench.round(comparison));
  }

  @Test
  void shouldEndTheComparisonAndTheFaultOfWordsThatAreRemoved() {
    begin();
    final Memory other = new Memory();
    final DesiredWords next = new DesiredWords("b", other, copyOf(planned), bench);
    comparison.add(next);
    next.resume();
    memory.held[0] = -1;
    assertEquals(1, comparison.step());
    comparison.remove(words);
    assertEquals(Map.of(), bench.faults);
    memory.held[0] = -1;
    assertEquals(WORDS / 2, ReconcileBench.round(comparison), "the other one follows");
    assertEquals(-1, memory.held[0]);
    assertEquals(List.of("map b"), List.copyOf(bench.faults.keySet()));
  }

  @Test
  void shouldGoOnWhereWordsAreRemovedThatWereComparedBefore() {
    begin();
    final DesiredWords next = new DesiredWords("b", new Memory(), copyOf(planned), bench);
    comparison.add(next);
    next.resume();
    for (int i = 0; i < STEPS; i++) {
      assertEquals(0, comparison.step());
    }
    final int repaired = comparison.step();
    comparison.remove(words);
    assertEquals(WORDS / 2, repaired + ReconcileBench.round(comparison));
  }

  @Test
  void shouldAllocateNothingInARound() {
    begin();
    assertEquals(0, HeapAllocation.steady(100, () -> ReconcileBench.round(comparison)));
  }
}
