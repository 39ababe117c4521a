package agent.maps.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.Errno;
import agent.bindings.bpf.MapFlag;
import agent.bindings.bpf.MapSpec;
import agent.bindings.bpf.MapType;
import agent.maps.layout.Ipcache4KeyFlyweight;
import agent.testkit.HeapAllocation;
import agent.testkit.KernelTest;
import java.util.BitSet;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@KernelTest
class BatchAndCursorKernelTest {
  private static final MapDefinitions SHIPPED = MapDefinitions.of("endpoint", "prefilter");

  private static final int PREFIXES = 100_000;

  private static BpfMap create(int type, int entries, int flags) {
    return BpfMap.create(MapDefinition.of(MapSpec.of(type, "walked", 4, 8, entries, flags)), "");
  }

  private static int stage(PrefixTrie trie, int index) {
    return trie.stage(0x0a000000 + (index << 8), 24) ? 1 : 0;
  }

  private static int insert(PrefixTrie trie, int address) {
    trie.stage(address, 24);
    return trie.insertStaged();
  }

  /** Whether a prefix covers the address: 1 or 0. */
  private static int covers(BpfMap map, int address) {
    final EntryBuffer entry = new EntryBuffer(map);
    new Ipcache4KeyFlyweight().wrap(entry.key(), 0).prefixLength(32).address(address);
    final int result = map.lookup(entry);
    assertTrue(result == 0 || result == -Errno.ENOENT);
    return result == 0 ? 1 : 0;
  }

  @Test
  void shouldInsertAndDeleteAHundredThousandPrefixesInBatches() {
    try (BpfMap map = BpfMap.create(SHIPPED.get(MapCatalog.IPCACHE4), "")) {
      final PrefixTrie trie = new PrefixTrie(map);
      for (int i = 0; i < PREFIXES; i++) {
        if (stage(trie, i) == 1 || i == PREFIXES - 1) {
          assertEquals(0, trie.insertStaged());
        }
      }
      final BitSet seen = new BitSet();
      final MapCursor cursor = new MapCursor();
      assertEquals(0, cursor.open(map));
      final Ipcache4KeyFlyweight key = new Ipcache4KeyFlyweight();
      while (cursor.next()) {
        key.wrap(cursor.key(), 0);
        assertEquals(24, key.prefixLength());
        seen.set(key.address() - 0x0a000000 >>> 8);
      }
      cursor.close();
      assertEquals(0, cursor.error());
      assertEquals(PREFIXES, seen.cardinality());
      assertEquals(1, covers(map, 0x0a000001));
      assertEquals(0, covers(map, 0x09ffffff));

      for (int i = 0; i < PREFIXES; i += 2) {
        if (stage(trie, i) == 1) {
          assertEquals(0, trie.deleteStaged());
        }
      }
      assertEquals(0, trie.deleteStaged());
      assertEquals(PREFIXES / 2, map.countEntries());
      assertEquals(0, covers(map, 0x0a000001));
      assertEquals(1, covers(map, 0x0a000101));
    }
  }

  @Test
  void shouldSayHowFarABatchCame() {
    try (BpfMap map = BpfMap.create(SHIPPED.get(MapCatalog.IPCACHE4).withMaxEntries(10), "")) {
      final PrefixTrie trie = new PrefixTrie(map);
      for (int i = 0; i < 15; i++) {
        stage(trie, i);
      }
      assertEquals(-Errno.ENOSPC, trie.insertStaged());
      assertEquals(
          "map ipcache4: update (10.0.10.0/24): ENOSPC, 10 of 10 entries",
          trie.stagedFailure("update", -Errno.ENOSPC).getMessage());
      assertEquals(10, map.countEntries());
    }
  }

  @Test
  void shouldSayThatAPrefixIsTooLong() {
    try (BpfMap map = BpfMap.create(SHIPPED.get(MapCatalog.IPCACHE4).withMaxEntries(10), "")) {
      final PrefixTrie trie = new PrefixTrie(map);
      stage(trie, 1);
      trie.stage(0, 33);
      stage(trie, 2);
      assertEquals(-Errno.EINVAL, trie.insertStaged());
      assertEquals(1, map.countEntries());
      trie.stage(0, 33);
      stage(trie, 3);
      assertEquals(-Errno.EINVAL, trie.insertStaged());
      assertEquals(1, map.countEntries());
    }
  }

  @Test
  void shouldPassOverPrefixesThatAreNotThereWhenDeleting() {
    try (BpfMap map = BpfMap.create(SHIPPED.get(MapCatalog.IPCACHE6).withMaxEntries(10), "")) {
      final PrefixTrie trie = new PrefixTrie(map);
      trie.stage(1L << 60, 0, 16);
      trie.stage(3L << 60, 0, 16);
      assertEquals(0, trie.insertStaged());
      trie.stage(2L << 60, 0, 16);
      trie.stage(1L << 60, 0, 16);
      trie.stage(2L << 60, 0, 17);
      trie.stage(3L << 60, 0, 16);
      trie.stage(4L << 60, 0, 16);
      assertEquals(0, trie.deleteStaged());
      assertEquals(0, map.countEntries());
    }
  }

  @Test
  void shouldAllocateNothingABatch() {
    try (BpfMap map = BpfMap.create(SHIPPED.get(MapCatalog.IPCACHE4), "")) {
      final PrefixTrie trie = new PrefixTrie(map);
      final Runnable work =
          () -> {
            for (int i = 0; i < 100; i++) {
              trie.stage(i << 8, 24);
            }
            trie.insertStaged();
            for (int i = 0; i < 100; i++) {
              trie.stage(i << 8, 24);
            }
            trie.deleteStaged();
          };
      HeapAllocation.of(2_000, work);
      assertEquals(0, HeapAllocation.steady(500, work));
    }
  }

  @ParameterizedTest
  @ValueSource(
      ints = {
        MapType.HASH,
        MapType.LRU_HASH,
        MapType.ARRAY,
        MapType.PERCPU_HASH,
        MapType.PERCPU_ARRAY,
        MapType.LRU_PERCPU_HASH,
        MapType.LPM_TRIE
      })
  void shouldWalkEveryTypeOfMap(int type) {
    final int entries = type == MapType.LRU_HASH || type == MapType.LRU_PERCPU_HASH ? 4096 : 1024;
    final int flags = type == MapType.LPM_TRIE ? MapFlag.NO_PREALLOC : 0;
    final int used = type == MapType.LPM_TRIE ? 0 : 1000;
    try (BpfMap map = type == MapType.LPM_TRIE ? trie() : create(type, entries, flags)) {
      final EntryBuffer entry = new EntryBuffer(map);
      for (int i = 0; i < used; i++) {
        entry.key().putInt(0, i);
        for (int part = 0; part < map.copiedValueSize(); part += 8) {
          entry.value().putLong(part, i + 1);
        }
        assertEquals(0, map.update(entry, 0));
      }
      final MapCursor cursor = new MapCursor(16);
      final int parts = map.copiedValueSize() / map.valueSize();
      for (int round = 0; round < 2; round++) {
        final Set<Integer> seen = new HashSet<>();
        assertEquals(0, cursor.open(map));
        while (cursor.next()) {
          final int key = cursor.key().getInt(0);
          if (key < used) {
            assertEquals((key + 1L) * parts, cursor.value().getLong(0));
          }
          seen.add(key);
        }
        assertEquals(0, cursor.error());
        final boolean array = type == MapType.ARRAY || type == MapType.PERCPU_ARRAY;
        assertEquals(array ? entries : type == MapType.LPM_TRIE ? 1 : used, seen.size());
        cursor.close();
      }
    }
  }

  private static BpfMap trie() {
    final BpfMap map = BpfMap.create(SHIPPED.get(MapCatalog.IPCACHE4).withMaxEntries(16), "");
    assertEquals(0, new Ipcache4Map(map).upsert(0x0a000000, 8, 1, 0, 0));
    return map;
  }

  @Test
  void shouldWalkTwiceWithoutAllocation() {
    try (BpfMap map = create(MapType.HASH, 4096, 0)) {
      final EntryBuffer entry = new EntryBuffer(map);
      for (int i = 0; i < 4096; i++) {
        entry.key().putInt(0, i);
        assertEquals(0, map.update(entry, 0));
      }
      final MapCursor cursor = new MapCursor();
      final Runnable walk =
          () -> {
            cursor.open(map);
            int count = 0;
            while (cursor.next()) {
              count++;
            }
            cursor.close();
            if (count != 4096) {
              throw new IllegalStateException("walked " + count);
            }
          };
      HeapAllocation.of(50, walk);
      assertEquals(0, HeapAllocation.steady(50, walk));
    }
  }

  @Test
  void shouldEndAWalkOverAMapThatChangesMeanwhile() {
    try (BpfMap map = BpfMap.create(SHIPPED.get(MapCatalog.IPCACHE4).withMaxEntries(1000), "")) {
      final PrefixTrie trie = new PrefixTrie(map);
      for (int i = 0; i < 1000; i++) {
        assertEquals(0, insert(trie, i << 8));
      }
      final MapCursor cursor = new MapCursor(4);
      assertEquals(0, cursor.open(map));
      int walked = 0;
      while (cursor.next()) {
        final int address = new Ipcache4KeyFlyweight().wrap(cursor.key(), 0).address();
        trie.stage(address, 24);
        assertEquals(0, trie.deleteStaged()); // the walk has lost its place
        insert(trie, address);
        walked++;
      }
      cursor.close();
      assertTrue(walked >= 4 && walked <= 1004, "walked " + walked);
    }
  }

  @Test
  void shouldNotWalkARingNorAClosedMap() {
    final MapCursor cursor = new MapCursor();
    try (BpfMap ring = BpfMap.create(SHIPPED.get(MapCatalog.EVENTS), "")) {
      assertEquals(-Errno.EOPNOTSUPP, cursor.open(ring));
      assertEquals(0, ring.countEntries());
    }
    final BpfMap closed = create(MapType.HASH, 16, 0);
    closed.close();
    assertEquals(-Errno.ENODEV, cursor.open(closed));
  }
}
