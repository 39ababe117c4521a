package agent.maps.mirror;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.HeapAllocation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MirrorStoreTest {
  private static final int KEY_SIZE = 13; // not a whole number of words
  private static final int VALUE_SIZE = 9;

  private final UnsafeBuffer key = new UnsafeBuffer(new byte[32]);
  private final UnsafeBuffer value = new UnsafeBuffer(new byte[32]);

  private static MirrorStore open(Path file) {
    return MirrorStore.open("test", 10_000, KEY_SIZE, VALUE_SIZE, file);
  }

  private void put(MirrorStore store, int serial, int epoch, int number) {
    key.setMemory(0, 32, (byte) 0);
    key.putInt(3, number);
    key.putByte(3 + KEY_SIZE - 1, (byte) 0x7f);
    value.putInt(1, -number);
    value.putByte(1 + VALUE_SIZE - 1, (byte) 0x3f);
    store.put(serial, epoch, key, 3, KEY_SIZE, value, 1, VALUE_SIZE);
  }

  private static Map<Integer, Integer> contents(MirrorStore store, int serial, int epoch) {
    final SegmentCopy copy = new SegmentCopy();
    final Map<Integer, Integer> found = new TreeMap<>();
    for (int segment = 0; segment < store.segments(); segment++) {
      store.copy(segment, serial, epoch, copy);
      while (copy.next()) {
        assertEquals(0x7f, copy.buffer().getByte(copy.keyOffset() + KEY_SIZE - 1));
        assertEquals(0x3f, copy.buffer().getByte(copy.valueOffset() + VALUE_SIZE - 1));
        found.put(copy.buffer().getInt(copy.keyOffset()), copy.buffer().getInt(copy.valueOffset()));
      }
    }
    return found;
  }

  private static int sweep(MirrorStore store, int serial, int epoch) {
    int left = 0;
    for (int segment = 0; segment < store.segments(); segment++) {
      left += store.sweep(segment, serial, epoch);
    }
    return left;
  }

  @Test
  void shouldKeepTheEntriesOfMapsApart() {
    final MirrorStore store = open(null);
    for (int i = 0; i < 1000; i++) {
      put(store, 1, 1, i);
    }
    put(store, 2, 1, 5);
    assertEquals(1000, contents(store, 1, 1).size());
    assertEquals(-999, contents(store, 1, 1).get(999));
    assertEquals(Map.of(5, -5), contents(store, 2, 1));
    store.clear(1);
    assertEquals(Map.of(), contents(store, 1, 1));
    assertEquals(Map.of(5, -5), contents(store, 2, 1));
    store.release();
  }

  @Test
  void shouldShowNoEntryOfAnEarlierEpochAndSweepItAway() {
    final MirrorStore store = open(null);
    put(store, 1, 1, 10);
    put(store, 1, 1, 11);
    put(store, 2, 1, 12);
    put(store, 1, 2, 11);
    put(store, 1, 3, 13);
    assertEquals(Map.of(11, -11, 13, -13), contents(store, 1, 2));
    assertEquals(1, sweep(store, 1, 3));
    assertEquals(Map.of(13, -13), contents(store, 1, 1));
    assertEquals(Map.of(12, -12), contents(store, 2, 1));
    store.release();
  }

  @Test
  void shouldFindAndRemoveEntries() {
    final MirrorStore store = open(null);
    put(store, 1, 1, 10);
    assertTrue(store.contains(1, key, 3, KEY_SIZE));
    assertFalse(store.contains(2, key, 3, KEY_SIZE));
    store.remove(2, key, 3, KEY_SIZE);
    assertEquals(1, store.size());
    store.remove(1, key, 3, KEY_SIZE);
    assertEquals(0, store.size());
    store.release();
  }

  @Test
  void shouldAllocateNothingAnOperation() {
    final MirrorStore store = open(null);
    final int[] round = new int[1];
    final Runnable work =
        () -> {
          put(store, 1, 1, round[0]++ & 0xfff);
          store.contains(1, key, 3, KEY_SIZE);
          if ((round[0] & 3) == 0) {
            store.remove(1, key, 3, KEY_SIZE);
          }
        };
    assertEquals(0, HeapAllocation.steady(10_000, work));
    store.release();
  }

  @Test
  void shouldTrustNoFileOfAnotherProcessAndLeaveNone(@TempDir Path directory) throws IOException {
    final Path file = directory.resolve("mirrors").resolve("conntrack4_tcp-1.mirror");
    Files.createDirectories(file.getParent());
    Files.write(file, new byte[] {1, 2, 3});
    final MirrorStore store = open(file);
    put(store, 1, 1, 10);
    assertEquals(Map.of(10, -10), contents(store, 1, 1));
    assertTrue(store.retain());
    store.release();
    assertTrue(Files.exists(file));
    store.release();
    assertFalse(Files.exists(file));
    assertFalse(store.retain());
  }
}
