package agent.datapath.manager.service;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MaglevTableTest {
  private static final int MOST = 16_381;

  private static long[] identities(int count, long seed) {
    return new Random(seed).longs(count).toArray();
  }

  private static int[] equal(int count) {
    final int[] weights = new int[count];
    Arrays.fill(weights, 1);
    return weights;
  }

  private static int[] without(int[] values, int removed) {
    final int[] rest = Arrays.copyOf(values, values.length - 1);
    System.arraycopy(values, removed + 1, rest, removed, rest.length - removed);
    return rest;
  }

  private static long[] without(long[] values, int removed) {
    final long[] rest = Arrays.copyOf(values, values.length - 1);
    System.arraycopy(values, removed + 1, rest, removed, rest.length - removed);
    return rest;
  }

  /** Returns the identity in each cell. */
  private static long[] chosen(long[] identities, int[] weights, int cells) {
    final MaglevTable table = new MaglevTable(identities, weights, cells);
    final long[] chosen = new long[table.cells()];
    for (int cell = 0; cell < chosen.length; cell++) {
      chosen[cell] = identities[table.choice(cell)];
    }
    return chosen;
  }

  private static void assertShares(int[] weights, double mostRelative) {
    final long[] identities = identities(weights.length, 7);
    final long[] chosen = chosen(identities, weights, MaglevTable.cells(weights, 0, MOST));
    final double sum = Arrays.stream(weights).asLongStream().sum();
    for (int i = 0; i < weights.length; i++) {
      final long identity = identities[i];
      final double share =
          (double) Arrays.stream(chosen).filter(found -> found == identity).count() / chosen.length;
      final double wanted = weights[i] / sum;
      assertTrue(
          Math.abs(share / wanted - 1) <= mostRelative,
          i + " of " + Arrays.toString(weights) + ": " + share + ", not " + wanted);
    }
  }

  @ParameterizedTest
  @CsvSource({"1 1", "1 3", "7 7 7", "1 2 3 4", "1 1 1 1 96", "100 3 100 100", "50000 20000 60000"})
  void shouldKeepTheWeightsWithinTwoPercent(String weights) {
    assertShares(Arrays.stream(weights.split(" ")).mapToInt(Integer::parseInt).toArray(), 0.02);
  }

  @Test
  void shouldKeepTheWeightsOfManyBackendsWithinTwoPercent() {
    final Random random = new Random(9);
    for (int i = 0; i < 20; i++) {
      assertShares(random.ints(2 + random.nextInt(30), 1, 6).toArray(), 0.02);
      assertShares(equal(2 + random.nextInt(160)), 0.02);
    }
  }

  @ParameterizedTest
  @CsvSource({"1", "3"})
  void shouldMoveAtMostTwoPercentOfTheOthersWhereOneOfAHundredGoes(int heaviest) {
    for (int seed = 0; seed < 3; seed++) {
      final long[] identities = identities(100, seed);
      final int[] weights = new Random(seed).ints(100, 1, heaviest + 1).toArray();
      final int cells = MaglevTable.cells(weights, 0, MOST);
      assertEquals(MOST, cells);
      final long[] before = chosen(identities, weights, cells);
      for (int removed = 0; removed < identities.length; removed += 9) {
        final long[] after =
            chosen(
                without(identities, removed),
                without(weights, removed),
                MaglevTable.cells(without(weights, removed), cells, MOST));
        int others = 0;
        int moved = 0;
        for (int cell = 0; cell < cells; cell++) {
          others += before[cell] == identities[removed] ? 0 : 1;
          moved += before[cell] == identities[removed] || before[cell] == after[cell] ? 0 : 1;
        }
        assertTrue(moved <= others * 0.02, removed + ": " + moved + " of " + others);
      }
    }
  }

  @Test
  void shouldMoveAFewOfTheOthersOfASmallServiceWhereOneGoes() {
    final long[] identities = identities(10, 3);
    final long[] before = chosen(identities, equal(10), 1021);
    for (int removed = 0; removed < identities.length; removed++) {
      final long[] after = chosen(without(identities, removed), equal(9), 1021);
      int moved = 0;
      for (int cell = 0; cell < before.length; cell++) {
        moved += before[cell] == identities[removed] || before[cell] == after[cell] ? 0 : 1;
      }
      assertTrue(moved <= 1021 * 0.05, removed + ": " + moved);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "1, 0, 16381, 251",
    "2, 0, 16381, 251",
    "3, 0, 16381, 509",
    "10, 0, 16381, 1021",
    "10, 2039, 16381, 2039",
    "11, 1021, 16381, 2039",
    "100, 0, 16381, 16381",
    "1000, 0, 16381, 16381",
    "100, 0, 1021, 1021",
    "2, 2039, 1021, 1021",
    "2, 1021, 250, 0",
    "10, 0, 0, 0"
  })
  void shouldHaveAHundredCellsForEachAndNeverShrink(int count, int former, int most, int cells) {
    assertEquals(cells, MaglevTable.cells(equal(count), former, most));
  }

  @Test
  void shouldHaveAHundredCellsForTheSmallestWeight() {
    assertEquals(509, MaglevTable.cells(new int[] {100, 300}, 0, MOST));
    assertEquals(MOST, MaglevTable.cells(new int[] {65_535, 1}, 0, MOST));
    assertEquals(1021, MaglevTable.cells(new int[0], 1021, MOST));
  }
}
