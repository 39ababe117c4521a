package agent.maps.mirror;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.OtherThread;
import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.agrona.ExpandableArrayBuffer;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class MirrorStoreTest {
  private static final int KEY_SIZE = 13; // not a whole number of words
  private static final int VALUE_SIZE = 9;

  private final UnsafeBuffer key = new UnsafeBuffer(new byte[32]);
  private final UnsafeBuffer value = new UnsafeBuffer(new byte[32]);
  private final MirrorStore store = new MirrorStore();

  @AfterEach
  void close() {
    store.release();
    assertFalse(store.retain());
  }

  private boolean put(int serial, int number) {
    key.setMemory(0, 32, (byte) 0);
    key.putInt(3, number);
    key.putByte(3 + KEY_SIZE - 1, (byte) 0x7f);
    value.putInt(1, -number);
    value.putByte(1 + VALUE_SIZE - 1, (byte) 0x3f);
    return store.put(serial, key, 3, KEY_SIZE, value, 1, VALUE_SIZE);
  }

  private Map<Integer, Integer> contents(int serial) {
    final ExpandableArrayBuffer copy = new ExpandableArrayBuffer();
    final Map<Integer, Integer> found = new TreeMap<>();
    for (int segment = 0; segment < store.segments(); segment++) {
      final int count = store.copy(segment, serial, copy);
      for (int i = 0; i < count; i++) {
        final int keyAt = i * MirrorStore.stride(KEY_SIZE, VALUE_SIZE);
        final int valueAt = keyAt + MirrorStore.valueOffset(KEY_SIZE);
        assertEquals(0x7f, copy.getByte(keyAt + KEY_SIZE - 1));
        assertEquals(0x3f, copy.getByte(valueAt + VALUE_SIZE - 1));
        assertEquals(0, copy.getByte(keyAt + KEY_SIZE), "no byte of the value");
        found.put(copy.getInt(keyAt), copy.getInt(valueAt));
      }
    }
    return found;
  }

  @Test
  void shouldKeepTheEntriesOfMapsApart() {
    for (int i = 0; i < 1000; i++) {
      assertTrue(put(1, i));
    }
    assertTrue(put(2, 5));
    assertFalse(put(2, 5), "no new key");
    assertEquals(1000, contents(1).size());
    assertEquals(-999, contents(1).get(999));
    assertEquals(Map.of(5, -5), contents(2));
    for (int segment = 0; segment < store.segments(); segment++) {
      store.clear(segment, 1);
    }
    assertEquals(Map.of(), contents(1));
    assertEquals(Map.of(5, -5), contents(2));
  }

  @Test
  void shouldRemoveEntries() {
    put(1, 10);
    assertFalse(store.remove(2, key, 3, KEY_SIZE));
    assertEquals(Map.of(10, -10), contents(1));
    assertTrue(store.remove(1, key, 3, KEY_SIZE));
    assertFalse(store.remove(1, key, 3, KEY_SIZE));
    assertEquals(Map.of(), contents(1));
  }

  @Test
  void shouldStayOpenWhileItIsRetained() {
    put(1, 10);
    assertTrue(store.retain());
    store.release();
    assertEquals(Map.of(10, -10), contents(1));
  }

  @Test
  void shouldCloseWithTheLastRelease() {
    final MirrorStore other = new MirrorStore();
    assertTrue(other.put(1, key, 0, KEY_SIZE, value, 0, VALUE_SIZE));
    other.release();
    assertThrows(
        IllegalStateException.class, () -> other.put(2, key, 0, KEY_SIZE, value, 0, VALUE_SIZE));
  }

  /** The end of the test finds the store open, and closes it. */
  @Test
  void shouldStayOpenForAsManyReadersAsThereAre() throws Exception {
    final Consumer<Integer> read =
        round -> {
          assertTrue(store.retain());
          store.release();
        };
    OtherThread.collide(Collections.nCopies(20_000, 0), read, read);
    assertTrue(put(1, 1));
  }
}
