package agent.datapath.manager.guard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.manager.guard.DesiredEntries.Found;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;

class DesiredEntriesTest {
  private static final int KEYS = 2000;

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
    for (int i = 0; i < 50_000; i++) {
      final int number = random.nextInt(KEYS);
      if (random.nextInt(5) < 2) {
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
    for (int slot = 0; slot < entries.slots(); slot++) {
      if (entries.copyUnseen(slot, key, value)) {
        unseen.put(key.getInt(0), value.getInt(0));
      }
    }
    model.keySet().removeIf(number -> number % 10 != 3);
    assertEquals(model, unseen);
    unseen.forEach((number, content) -> entries.compare(key(number), value(content)));
    assertTrue(entries.isComplete());
  }
}
