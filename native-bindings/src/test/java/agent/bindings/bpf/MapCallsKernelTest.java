package agent.bindings.bpf;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.Descriptors;
import agent.bindings.Errno;
import agent.testkit.HeapAllocation;
import agent.testkit.KernelTest;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

@KernelTest
class MapCallsKernelTest {
  private static final int CAPACITY = 1024;
  private static final int CALLS = 20_000;

  private final Arena arena = Arena.ofConfined();
  private final MemorySegment key = arena.allocate(JAVA_INT);
  private final MemorySegment next = arena.allocate(JAVA_INT);
  private final MemorySegment value = arena.allocate(JAVA_LONG);
  private final MemorySegment keys = arena.allocate(JAVA_INT, CAPACITY);
  private final MemorySegment values = arena.allocate(JAVA_LONG, CAPACITY);
  private final MemorySegment count = arena.allocate(JAVA_INT);
  private final MemorySegment cursor = arena.allocate(JAVA_INT);
  private final int fd =
      MapCalls.create(MapSpec.of(MapType.HASH, "map_calls_test", 4, 8, CAPACITY, 0));

  @AfterEach
  void close() {
    assertEquals(0, Descriptors.close(fd));
    arena.close();
  }

  @Test
  void shouldReturnAnEntryUntilItIsDeleted() {
    assertEquals(-Errno.ENOENT, lookup(7));
    assertEquals(0, update(7, 700L, MapFlag.ANY));
    assertEquals(0, lookup(7));
    assertEquals(700L, value.get(JAVA_LONG, 0));
    assertEquals(0, MapCalls.delete(fd, key));
    assertEquals(-Errno.ENOENT, MapCalls.delete(fd, key));
  }

  @Test
  void shouldHonourTheUpdateFlags() {
    assertEquals(-Errno.ENOENT, update(7, 1L, MapFlag.EXIST));
    assertEquals(0, update(7, 1L, MapFlag.NO_EXIST));
    assertEquals(-Errno.EEXIST, update(7, 2L, MapFlag.NO_EXIST));
    assertEquals(0, update(7, 3L, MapFlag.EXIST));
  }

  @Test
  void shouldReturnTheErrorOfAFullMapAndOfABadDescriptor() {
    for (int i = 0; i < CAPACITY; i++) {
      assertEquals(0, update(i, i, MapFlag.ANY));
    }
    assertEquals(-Errno.E2BIG, update(CAPACITY, 0L, MapFlag.ANY));
    assertEquals(-Errno.EBADF, MapCalls.lookup(-1, key, value));
    assertEquals(
        -Errno.EINVAL, MapCalls.create(MapSpec.of(MapType.HASH, "no_capacity", 4, 8, 0, 0)));
  }

  @Test
  void shouldVisitEveryKeyOnce() {
    for (int i = 0; i < 100; i++) {
      update(i, i, MapFlag.ANY);
    }
    final boolean[] seen = new boolean[100];
    int visited = 0;
    for (int r = MapCalls.nextKey(fd, MemorySegment.NULL, next);
        r == 0;
        r = MapCalls.nextKey(fd, key, next)) {
      seen[next.get(JAVA_INT, 0)] = true;
      visited++;
      key.copyFrom(next);
    }
    assertEquals(100, visited);
    for (final boolean one : seen) {
      assertTrue(one);
    }
  }

  @Test
  void shouldWriteReadAndDeleteInBatches() {
    fillBatch(1000);
    assertEquals(0, MapCalls.updateBatch(fd, keys, values, count));
    assertEquals(1000, count.get(JAVA_INT, 0));

    final Map<Integer, Long> read = readAll(256);
    assertEquals(1000, read.size());
    read.forEach((k, v) -> assertEquals(k * 10L, v));

    fillBatch(400);
    assertEquals(0, MapCalls.deleteBatch(fd, keys, count));
    assertEquals(400, count.get(JAVA_INT, 0));
    assertEquals(600, readAll(256).size());
  }

  @Test
  void shouldReportHowManyEntriesAFailedBatchWrote() {
    for (int i = 0; i < CAPACITY - 10; i++) {
      update(1_000_000 + i, 0L, MapFlag.ANY);
    }
    fillBatch(20);
    assertEquals(-Errno.E2BIG, MapCalls.updateBatch(fd, keys, values, count));
    assertEquals(10, count.get(JAVA_INT, 0));
  }

  @Test
  void shouldAllocateNothingInSingleCalls() {
    final Runnable work =
        () -> {
          update(7, 1L, MapFlag.ANY);
          lookup(7);
          MapCalls.nextKey(fd, MemorySegment.NULL, next);
          MapCalls.delete(fd, key);
        };

    assertEquals(0, HeapAllocation.steady(CALLS, work));
  }

  @Test
  void shouldAllocateNothingInBatches() {
    final Runnable work =
        () -> {
          fillBatch(500);
          MapCalls.updateBatch(fd, keys, values, count);
          count.set(JAVA_INT, 0, CAPACITY);
          MapCalls.lookupBatch(fd, MemorySegment.NULL, cursor, keys, values, count);
          fillBatch(500);
          MapCalls.deleteBatch(fd, keys, count);
        };

    assertEquals(0, HeapAllocation.steady(2_000, work));
  }

  private int lookup(int k) {
    key.set(JAVA_INT, 0, k);
    return MapCalls.lookup(fd, key, value);
  }

  private int update(int k, long v, long flags) {
    key.set(JAVA_INT, 0, k);
    value.set(JAVA_LONG, 0, v);
    return MapCalls.update(fd, key, value, flags);
  }

  private void fillBatch(int entries) {
    for (int i = 0; i < entries; i++) {
      keys.setAtIndex(JAVA_INT, i, i);
      values.setAtIndex(JAVA_LONG, i, i * 10L);
    }
    count.set(JAVA_INT, 0, entries);
  }

  private Map<Integer, Long> readAll(int batch) {
    final Map<Integer, Long> read = new HashMap<>();
    MemorySegment in = MemorySegment.NULL;
    int result = 0;
    while (result == 0) {
      count.set(JAVA_INT, 0, batch);
      result = MapCalls.lookupBatch(fd, in, cursor, keys, values, count);
      for (int i = 0; i < count.get(JAVA_INT, 0); i++) {
        read.put(keys.getAtIndex(JAVA_INT, i), values.getAtIndex(JAVA_LONG, i));
      }
      in = cursor;
    }
    assertEquals(-Errno.ENOENT, result);
    return read;
  }
}
