package agent.reconcile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.agrona.MutableDirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;

class DesiredTableTest {
  private static final int NUMBERS = 20_000;

  private final NumberedMap map = new NumberedMap("a", NUMBERS);
  private final UnsafeBuffer key = new UnsafeBuffer(new byte[8]);
  private final UnsafeBuffer value = new UnsafeBuffer(new byte[4]);
  private final DesiredTable table =
      new DesiredTable(map, 3, 0, Realization.PLAIN, new ReconcileBench());

  /** Random changes of three sources give what maps of the collections say. */
  @Test
  void shouldFindTheStrongestEntryOfEachKey() {
    final Random random = new Random(30);
    final List<Map<Integer, Integer>> model =
        List.of(new HashMap<>(), new HashMap<>(), new HashMap<>());
    for (int i = 0; i < 200_000; i++) {
      final int number = random.nextInt(i < 100_000 ? NUMBERS : NUMBERS / 100);
      final int source = random.nextInt(3);
      key.putInt(0, number % 7);
      key.putInt(4, number);
      value.putInt(0, i);
      if (random.nextInt(5) < (i < 100_000 ? 3 : 1)) {
        realize(table.put(source, 0, key, value));
        model.get(source).put(number, i);
      } else {
        realize(table.remove(source, 0, key));
        model.get(source).remove(number);
      }
    }
    for (int number = 0; number < NUMBERS; number++) {
      key.putInt(0, number % 7);
      key.putInt(4, number);
      final int row = table.find(key);
      final Integer found = row < 0 || !table.isWanted(row) ? null : table.wanted(row).getInt(0);
      assertEquals(strongest(model, number), found, "number " + number);
    }
  }

  /** Makes the map hold what it is to hold, so that rows that are not used any more are freed. */
  private void realize(int row) {
    if (row >= 0) {
      if (table.isWanted(row)) {
        table.written(row, table.wanted(row));
      } else {
        table.deleted(row);
        table.freeUnused(row);
      }
    }
  }

  private static Integer strongest(List<Map<Integer, Integer>> model, int number) {
    for (int source = model.size() - 1; source >= 0; source--) {
      if (model.get(source).containsKey(number)) {
        return model.get(source).get(number);
      }
    }
    return null;
  }

  @Test
  void shouldUseRowsAgain() {
    for (int round = 0; round < 3; round++) {
      for (int number = 0; number < 10_000; number++) {
        key.putInt(4, number + 10_000 * (round & 1));
        realize(table.put(0, 0, key, value));
      }
      for (int number = 0; number < 10_000; number++) {
        key.putInt(4, number + 10_000 * (round & 1));
        realize(table.remove(0, 0, key));
      }
    }
    assertEquals(10_000, table.rows());
  }

  /** A comparison would take a row that is used again for one that it has seen. */
  @Test
  void shouldBeginARowThatIsUsedAgainAnew() {
    for (int number = 0; number < 3; number++) {
      key.putInt(4, number);
      realize(table.put(0, 0, key, value));
      table.round(table.find(key), 7);
    }
    for (int number = 0; number < 3; number++) {
      key.putInt(4, number);
      realize(table.remove(0, 0, key));
    }
    for (int number = 3; number < 6; number++) {
      key.putInt(4, number);
      realize(table.put(0, 0, key, value));
      assertEquals(0, table.round(table.find(key)));
    }
    assertEquals(3, table.rows());
  }

  /** What the map holds of a former run is what it is to hold; what a source has is refined. */
  @Test
  void shouldRefineTheEntriesOfSourcesAlone() {
    final Realization refining =
        new Realization() {
          @Override
          public void refine(int source, MutableDirectBuffer ofKey, MutableDirectBuffer refined) {
            refined.putInt(0, 100 + source);
          }
        };
    final DesiredTable refined = new DesiredTable(map, 3, 0, refining, new ReconcileBench());
    value.putInt(0, 5);
    refined.adopt(key, value);
    assertEquals(5, refined.wanted(refined.find(key)).getInt(0));
    refined.put(2, 0, key, value);
    assertEquals(102, refined.wanted(refined.find(key)).getInt(0));
    assertEquals(5, refined.unrefined(refined.find(key)).getInt(0));
  }

  /** What two tables have in common is what maps of the collections say. */
  @Test
  void shouldCountWhatItDesiresAndWhatAnotherTableDoesToo() {
    final Random random = new Random(31);
    final DesiredTable other = new DesiredTable(map, 1, 0, Realization.PLAIN, new ReconcileBench());
    final Map<Integer, Integer> own = new HashMap<>();
    final Map<Integer, Integer> others = new HashMap<>();
    for (int i = 0; i < 5000; i++) {
      final boolean isOwn = random.nextBoolean();
      final DesiredTable changed = isOwn ? table : other;
      final Map<Integer, Integer> model = isOwn ? own : others;
      final int number = random.nextInt(500);
      key.putInt(4, number);
      value.putInt(0, random.nextInt(2));
      if (random.nextInt(3) > 0) {
        changed.put(0, 0, key, value);
        model.put(number, value.getInt(0));
      } else {
        changed.remove(0, 0, key);
        model.remove(number);
      }
    }
    assertEquals(own.size(), table.desired());
    assertEquals(others.size(), other.desired());
    final long both =
        own.entrySet().stream()
            .filter(entry -> entry.getValue().equals(others.get(entry.getKey())))
            .count();
    assertEquals(both, table.desiredIn(other));
    assertEquals(both, other.desiredIn(table));
    for (int number = 0; number < 500; number++) {
      key.putInt(4, number);
      value.putInt(0, 1);
      assertEquals(own.containsKey(number), table.wants(key));
      assertEquals(own.getOrDefault(number, 0) == 1, table.wants(key, value));
    }
  }

  /** Each word of a key and of a value counts. */
  @Test
  void shouldCountNoEntryThatDiffersInOneWord() {
    final DesiredTable other = new DesiredTable(map, 1, 0, Realization.PLAIN, new ReconcileBench());
    table.put(0, 0, key, value);
    other.put(0, 0, words(1, 0), value);
    other.put(0, 0, words(0, 1), value);
    assertEquals(0, table.desiredIn(other));
    value.putInt(0, 9);
    other.put(0, 0, words(0, 0), value);
    assertEquals(0, table.desiredIn(other));
    value.putInt(0, 0);
    other.put(0, 0, words(0, 0), value);
    assertEquals(1, table.desiredIn(other));
  }

  private UnsafeBuffer words(int first, int second) {
    key.putInt(0, first);
    key.putInt(4, second);
    return key;
  }

  @Test
  void shouldTakeWhatTheMapHoldsAsDesired() {
    table.put(0, 0, words(0, 1), value); // not held
    value.putInt(0, 7);
    table.found(words(0, 2), value, 1);
    value.putInt(0, 8);
    table.put(0, 0, words(0, 2), value);
    assertEquals(2, table.desired());
    for (int row = 0; row < table.rows(); row++) {
      table.desireHeld(row);
    }
    assertEquals(1, table.desired());
    value.putInt(0, 7);
    assertTrue(table.wants(words(0, 2), value));
    assertTrue(table.holds(key, value));
    assertFalse(table.wants(words(0, 1)));
  }

  @Test
  void shouldRefuseMoreSourcesThanAStateHasBitsFor() {
    assertThrows(
        IllegalArgumentException.class,
        () -> new DesiredTable(map, 8, 0, Realization.PLAIN, new ReconcileBench()));
  }
}
