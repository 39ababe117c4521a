package agent.datapath.manager.guard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.manager.guard.DesiredEntries.Found;
import agent.testkit.HeapAllocation;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;

class DesiredEntriesTest {
  private static final int KEYS = 10_000;

  private final DesiredEntries entries = new DesiredEntries(8, 4);
  private final Map<Integer, Integer> model = new HashMap<>();
  private final UnsafeBuffer key = new UnsafeBuffer(new byte[8]);
  private final UnsafeBuffer value = new UnsafeBuffer(new byte[4]);

  private UnsafeBuffer key(int number) {
    key.putInt(0, number);
    key.putInt(4, number % 7);
    return key;
  }

  private UnsafeBuffer value(int number) {
    value.putInt(0, number);
    return value;
  }

  private void put(int number, int content) {
    entries.put(key(number), value(content));
    model.put(number, content);
  }

  @Test
  void shouldHoldWhatAModelHoldsAfterRandomChanges() {
    final Random random = new Random(11);
    for (int i = 0; i < 150_000; i++) {
      final int number = random.nextInt(KEYS);
      if (random.nextInt(5) < (i < 100_000 ? 3 : 2)) {
        put(number, random.nextInt(3));
      } else {
        entries.remove(key(number));
        model.remove(number);
      }
    }
    for (int number = 0; number < KEYS; number++) {
      final Integer content = model.get(number);
      assertEquals(
          content == null ? Found.NOT_DESIRED : Found.EQUAL,
          entries.compare(key(number), value(content == null ? 0 : content)));
      if (content != null) {
        assertEquals(Found.OTHER_VALUE, entries.compare(key(number), value(content + 1)));
      }
    }
  }

  /** A table that was large once would otherwise hold that memory for good. */
  @Test
  void shouldGiveUpTheMemoryOfEntriesThatAreRemoved() {
    final long empty = entries.heldWords();
    for (int number = 0; number < 5 * KEYS; number++) {
      put(number, number + 1);
    }
    final long full = entries.heldWords();
    final List<Integer> order = new ArrayList<>(model.keySet());
    Collections.shuffle(order, new Random(13));
    for (final int number : order) {
      entries.remove(key(number));
      model.remove(number);
      if (model.size() % 3_001 == 0) {
        assertTrue(
            entries.heldWords() <= full * model.size() / (5L * KEYS) * 3 + 50_000,
            entries.heldWords() + " words for " + model.size());
        model.forEach(
            (kept, content) ->
                assertEquals(Found.EQUAL, entries.compare(key(kept), value(content))));
      }
    }
    assertEquals(0, entries.size());
    assertEquals(empty, entries.heldWords());
    put(1, 2);
    assertEquals(Found.EQUAL, entries.compare(key(1), value(2)));
  }

  /** What comes and goes allocates nothing, however many other entries there are. */
  @Test
  void shouldKeepTheMemoryThatTheNextEntriesNeed() {
    for (int number = 0; number < 20_000; number++) {
      put(number, number);
      put(number + 1, number);
      final long words = entries.heldWords();
      entries.remove(key(number + 1));
      assertEquals(words, entries.heldWords(), "beside " + number);
      model.remove(number + 1);
    }
  }

  @Test
  void shouldFindExactlyTheEntriesThatARoundHasNotSeen() {
    final Random random = new Random(12);
    for (int number = 0; number < KEYS; number++) {
      put(number, number);
    }
    entries.beginRound();
    assertFalse(entries.isComplete());
    for (int number = 0; number < KEYS; number++) {
      if (number % 10 != 3) {
        assertEquals(Found.EQUAL, entries.compare(key(number), value(number)));
        assertEquals(Found.EQUAL, entries.compare(key(number), value(number)), "seen twice");
      }
    }
    for (int i = 0; i < 500; i++) {
      final int number = random.nextInt(KEYS / 10) * 10;
      entries.remove(key(number));
      model.remove(number);
    }
    put(5 * KEYS, 1);
    put(3, 4); // not seen yet
    final Map<Integer, Integer> unseen = new HashMap<>();
    for (int slot = 0; slot < entries.size(); slot++) {
      if (entries.copyUnseen(slot, key, value)) {
        unseen.put(key.getInt(0), value.getInt(0));
      }
    }
    model.keySet().removeIf(number -> number % 10 != 3);
    assertEquals(model, unseen);
    unseen.forEach((number, content) -> entries.compare(key(number), value(content)));
    assertTrue(entries.isComplete());
  }

  /** Keys and values of several words: each word counts, and each is copied. */
  @Test
  void shouldCompareAndCopyEveryWord() {
    final DesiredEntries wide = new DesiredEntries(12, 8);
    final UnsafeBuffer wideKey = new UnsafeBuffer(new byte[12]);
    final UnsafeBuffer wideValue = new UnsafeBuffer(new byte[8]);
    for (int i = 0; i < 100; i++) {
      wideWords(wideKey, i, 2 * i, 3 * i);
      wideWords(wideValue, 5 * i, 7 * i);
      wide.put(wideKey, wideValue);
    }
    wide.beginRound();
    final UnsafeBuffer copy = new UnsafeBuffer(new byte[8]);
    for (int i = 0; i < 100; i++) {
      wideWords(wideKey, i, 2 * i, 3 * i);
      wideWords(wideValue, 5 * i, 7 * i);
      assertEquals(Found.EQUAL, wide.compare(wideKey, wideValue));
      wideWords(wideValue, 5 * i, 7 * i + 1);
      assertEquals(Found.OTHER_VALUE, wide.compare(wideKey, wideValue));
      wideWords(wideValue, 5 * i + 1, 7 * i);
      assertEquals(Found.OTHER_VALUE, wide.compare(wideKey, wideValue));
      wide.copyValue(wideKey, copy);
      assertEquals(5 * i, copy.getInt(0));
      assertEquals(7 * i, copy.getInt(4));
      wideWords(wideKey, i, 2 * i, 3 * i + 1);
      assertEquals(Found.NOT_DESIRED, wide.compare(wideKey, wideValue));
    }
    assertTrue(wide.isComplete());
    wide.beginRound();
    final Map<Integer, List<Integer>> unseen = new HashMap<>();
    for (int slot = 0; slot < wide.size(); slot++) {
      if (wide.copyUnseen(slot, wideKey, wideValue)) {
        unseen.put(
            wideKey.getInt(0),
            List.of(
                wideKey.getInt(4), wideKey.getInt(8), wideValue.getInt(0), wideValue.getInt(4)));
      }
    }
    assertEquals(100, unseen.size());
    unseen.forEach(
        (number, words) ->
            assertEquals(List.of(2 * number, 3 * number, 5 * number, 7 * number), words));
  }

  /** A small table, in which entries often lie behind its end, at its start. */
  @Test
  void shouldHoldWhatAModelHoldsInSmallTables() {
    final Random random = new Random(13);
    for (int round = 0; round < 500; round++) {
      entries.clear();
      model.clear();
      for (int i = 0; i < 30; i++) {
        final int number = random.nextInt(KEYS);
        if (model.size() < 5) {
          put(number, i);
        }
        final int skipped = random.nextInt(model.size());
        final int other = model.keySet().stream().skip(skipped).findFirst().orElseThrow();
        if (random.nextBoolean()) {
          entries.remove(key(other));
          model.remove(other);
          assertFalse(entries.hasKey(key(other)));
        }
        assertEquals(model.size(), entries.size());
        model.forEach(
            (known, content) -> {
              assertTrue(entries.hasKey(key(known)));
              assertEquals(Found.EQUAL, entries.compare(key(known), value(content)));
              assertEquals(Found.OTHER_VALUE, entries.compare(key(known), value(content + 1)));
            });
        assertFalse(entries.hasKey(key(KEYS + i)));
        assertEquals(Found.NOT_DESIRED, entries.compare(key(KEYS + i), value(i)));
      }
    }
  }

  @Test
  void shouldCopyEachEntryUntilARoundHasSeenIt() {
    for (int i = 0; i < 11; i++) {
      put(i, i);
    }
    entries.beginRound();
    assertEquals(11, countUnseen());
    entries.compare(key(3), value(3));
    assertEquals(10, countUnseen());
  }

  private int countUnseen() {
    int unseen = 0;
    for (int entry = 0; entry < entries.size(); entry++) {
      unseen += entries.copyUnseen(entry, key, value) ? 1 : 0;
    }
    return unseen;
  }

  /** 16 bytes of words, and 6 to 12 of the hash table, which has been copied as it grew. */
  @Test
  void shouldAllocateLittleMoreThanItsEntriesWhereItGrows() {
    final int count = 100_000;
    final long before = HeapAllocation.bytes();
    for (int i = 0; i < count; i++) {
      entries.put(key(i), value(i));
    }
    final long allocated = HeapAllocation.bytes() - before;
    assertTrue(allocated < count * (16 + 24L), allocated + " bytes");
  }

  @Test
  void shouldAllocateNothingForFewEntries() {
    for (int i = 0; i < 5; i++) {
      put(i, i);
    }
    for (int i = 0; i < 5; i++) {
      entries.remove(key(i));
    }
    final long before = HeapAllocation.bytes();
    for (int i = 10; i < 15; i++) {
      entries.put(key(i), value(i));
    }
    assertEquals(0, HeapAllocation.bytes() - before, "five need no more");
  }

  private static void wideWords(UnsafeBuffer buffer, int... words) {
    for (int i = 0; i < words.length; i++) {
      buffer.putInt(i * Integer.BYTES, words[i]);
    }
  }

  @Test
  void shouldBeEmptyAndCompleteAgainOnceItIsCleared() {
    put(1, 1);
    entries.beginRound();
    assertFalse(entries.isComplete());
    entries.clear();
    assertTrue(entries.isComplete());
    assertEquals(Found.NOT_DESIRED, entries.compare(key(1), value(1)));
    put(1, 2);
    assertTrue(entries.isComplete(), "what is put in a round is seen");
    entries.beginRound();
    entries.remove(key(1));
    assertTrue(entries.isComplete());
  }
}
