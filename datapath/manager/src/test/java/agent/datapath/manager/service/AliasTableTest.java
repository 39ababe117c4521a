package agent.datapath.manager.service;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class AliasTableTest {
  private static final double WHOLE = 0x1p32;

  /** Returns the share of each choice: that of its columns and of those that lead to it. */
  private static double[] shares(int... weights) {
    final AliasTable table = new AliasTable(weights);
    final double[] shares = new double[weights.length];
    for (int column = 0; column < weights.length; column++) {
      final double own = (Integer.toUnsignedLong(table.threshold(column)) + 1) / WHOLE;
      shares[column] += own / weights.length;
      shares[table.other(column)] += (1 - own) / weights.length;
    }
    return shares;
  }

  private static void assertShares(int... weights) {
    final double sum = Arrays.stream(weights).asLongStream().sum();
    final double[] shares = shares(weights);
    for (int i = 0; i < weights.length; i++) {
      assertEquals(weights[i] / sum, shares[i], 1e-6, Arrays.toString(weights) + " at " + i);
    }
  }

  @ParameterizedTest
  @CsvSource({"1", "1 1", "1 3", "65535 1", "1 65535", "1 2 3 4", "7 7 7", "1 1 1 1 96"})
  void shouldDrawByTheWeights(String weights) {
    assertShares(Arrays.stream(weights.split(" ")).mapToInt(Integer::parseInt).toArray());
  }

  @Test
  void shouldDrawByTheWeightsOfManyBackends() {
    final Random random = new Random(7);
    for (int i = 0; i < 100; i++) {
      assertShares(random.ints(1 + random.nextInt(300), 1, 65_536).toArray());
    }
    assertShares(random.ints(4096, 65_000, 65_536).toArray());
  }

  @Test
  void shouldBeEmptyWithoutChoices() {
    final AliasTable table = new AliasTable(new int[0]);
    assertThrows(ArrayIndexOutOfBoundsException.class, () -> table.other(0));
  }
}
