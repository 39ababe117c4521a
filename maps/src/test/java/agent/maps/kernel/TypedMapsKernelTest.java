package agent.maps.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.Errno;
import agent.bindings.bpf.BpfFileSystem;
import agent.bindings.bpf.MapDescription;
import agent.bindings.bpf.MapType;
import agent.maps.layout.ConntrackFlag;
import agent.maps.layout.InterfaceCellFlyweight;
import agent.maps.layout.PolicyFlag;
import agent.maps.layout.PolicyKeyFlyweight;
import agent.maps.layout.PolicyPrefix;
import agent.maps.layout.PrefilterGeometry;
import agent.testkit.HeapAllocation;
import agent.testkit.KernelTest;
import agent.testkit.OtherThread;
import agent.testkit.TemporaryBpfFileSystem;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

@KernelTest
class TypedMapsKernelTest {
  private static final MapDefinitions SHIPPED =
      MapDefinitions.of("endpoint", "prefilter", "conntrack_gc", "balancer", "socket");

  private static final int WARM_UP = 20_000;
  private static final int MEASURED = 2_000;
  private static final int TCP = 6;

  private final List<BpfMap> opened = new ArrayList<>();

  private BpfMap create(MapDefinition definition) {
    final BpfMap map = BpfMap.create(definition, "");
    opened.add(map);
    return map;
  }

  @AfterEach
  void closeMaps() {
    opened.forEach(BpfMap::close);
  }

  private static void assertNoAllocation(Runnable work) {
    HeapAllocation.of(WARM_UP, work);
    assertEquals(0, HeapAllocation.steady(MEASURED, work));
  }

  @Test
  void shouldCreateEveryMapOfTheNodeInItsOwnShape() {
    assertEquals(MapCatalog.ALL.size(), SHIPPED.all().size());
    for (final MapDefinition definition : SHIPPED.all()) {
      final MapDefinition small =
          definition.spec().type() == MapType.LRU_HASH
              ? definition.withMaxEntries(128)
              : definition;
      final BpfMap map = create(small);
      assertTrue(
          small.spec().fits(map.description()),
          small.spec().shape() + " / " + map.description().spec().shape());
      assertFalse(small.withMaxEntries(64).spec().fits(map.description()));
    }
  }

  @Test
  void shouldFindTheLongestPolicyPrefixAsTheProgramDoes() {
    final PolicyMap policy = new PolicyMap(create(SHIPPED.policy(12)));
    assertEquals("policy_00012", policy.map().name());
    assertEquals(0, policy.upsert(2031, 0, TCP, 443, PolicyPrefix.PORT, 0, 0));
    assertEquals(0, policy.upsert(2031, 0, TCP, 8000, 58, PolicyFlag.REDIRECT.number(), 10443));
    assertEquals(
        0, policy.upsert(2031, 0, 0, 0, PolicyPrefix.IDENTITY, PolicyFlag.DENY.number(), 0));

    assertEquals(0, policy.lookup(2031, 0, TCP, 443, PolicyPrefix.PORT));
    assertEquals(0, policy.found().flags());
    assertEquals(0, policy.lookup(2031, 0, TCP, 8063, PolicyPrefix.PORT));
    assertEquals(10443, policy.found().redirect());
    assertEquals(0, policy.lookup(2031, 0, TCP, 8064, PolicyPrefix.PORT));
    assertEquals(PolicyFlag.DENY.number(), policy.found().flags());
    assertEquals(-Errno.ENOENT, policy.lookup(2031, 1, TCP, 443, PolicyPrefix.PORT));

    assertEquals(0, policy.delete(2031, 0, TCP, 443, PolicyPrefix.PORT));
    assertEquals(-Errno.ENOENT, policy.delete(2031, 0, TCP, 443, PolicyPrefix.PORT));
  }

  @Test
  void shouldNameTheRejectedEntryAndTheFillLevel() {
    final PolicyMap policy = new PolicyMap(create(SHIPPED.policy(12).withMaxEntries(2)));
    assertEquals(0, policy.upsert(1, 0, TCP, 443, 64, 0, 0));
    assertEquals(0, policy.upsert(2, 0, TCP, 443, 64, 0, 0));
    final int result = policy.upsert(2031, 0, TCP, 443, 64, 0, 0);
    assertEquals(-Errno.ENOSPC, result);
    final EntryBuffer entry = new EntryBuffer(policy.map());
    new PolicyKeyFlyweight()
        .wrap(entry.key(), 0)
        .identity(2031)
        .protocol(TCP)
        .port(443)
        .prefixLength(PolicyPrefix.PORT);
    final BpfMapException failure = policy.map().failure("update", entry, result);
    assertEquals(
        "map policy_00012: update (ingress identity 2031 TCP/443): ENOSPC, 2 of 2 entries",
        failure.getMessage());
    assertEquals(Errno.ENOSPC, failure.errno());
  }

  @Test
  void shouldNameTheMapThatCannotBeCreated() {
    final BpfMapException failure =
        assertThrows(
            BpfMapException.class, () -> BpfMap.create(SHIPPED.policy(1).withMaxEntries(0), ""));
    assertEquals(
        "map policy_00001: create: EINVAL, lpm_trie, key 12 bytes, value 4 bytes, 0 entries,"
            + " flags 0x1",
        failure.getMessage());
  }

  @Test
  void shouldKeepPolicyMapsInTheirSlots() {
    final BpfMap inner = create(SHIPPED.policy(12));
    final BpfMap outer = create(SHIPPED.get(MapCatalog.POLICIES));
    final PolicyMapArray policies = new PolicyMapArray(outer);
    assertEquals(-Errno.ENOENT, policies.mapId(12));
    assertEquals(0, policies.set(12, inner.fd()));
    assertEquals(inner.description().id(), policies.mapId(12));
    assertEquals(List.of(12), slots(outer));
    assertEquals(1, outer.countEntries());
    assertEquals(0, policies.clear(12));
    assertEquals(-Errno.ENOENT, policies.mapId(12));
    assertEquals(-Errno.ENOENT, policies.clear(12));
    assertEquals(List.of(), slots(outer));
    assertEquals(0, outer.countEntries());
  }

  @Test
  void shouldWalkTheSlotsOfAnArrayOfMapsThatWereFoundInUse() throws Exception {
    final BpfMap inner = create(SHIPPED.policy(7));
    final BpfMap outer = create(SHIPPED.get(MapCatalog.POLICIES));
    final PolicyMapArray first = new PolicyMapArray(outer);
    assertEquals(0, first.set(300, inner.fd()));
    assertEquals(0, first.set(7, inner.fd()));
    assertEquals(List.of(7, 300), slots(outer));
    assertEquals(-Errno.E2BIG, first.set(65_536, inner.fd()));
    final BpfMap again;
    try (TemporaryBpfFileSystem bpffs = TemporaryBpfFileSystem.mount()) {
      final Path pin = bpffs.path().resolve("policies");
      assertEquals(0, BpfFileSystem.pin(outer.fd(), pin));
      again =
          BpfMap.adopt(BpfFileSystem.open(pin), SHIPPED.get(MapCatalog.POLICIES), pin.toString());
    }
    opened.add(again);
    final PolicyMapArray second = new PolicyMapArray(again);
    assertEquals(inner.description().id(), second.mapId(300));
    assertEquals(-Errno.ENOENT, second.mapId(301));
    assertEquals(List.of(300), slots(again));
    assertEquals(0, first.clear(300));
    assertEquals(List.of(), slots(again));
  }

  private static List<Integer> slots(BpfMap outer) {
    final List<Integer> slots = new ArrayList<>();
    try (MapCursor cursor = new MapCursor()) {
      assertEquals(0, cursor.open(outer));
      while (cursor.next()) {
        slots.add(cursor.key().getInt(0));
      }
      assertEquals(0, cursor.error());
    }
    return slots;
  }

  @Test
  void shouldKeepCellsOfInterfaces() {
    final BpfMap map = create(SHIPPED.get(MapCatalog.INTERFACES));
    final int index = InterfaceArray.index(65_543);
    assertEquals(7, index);
    try (InterfaceArray cells = new InterfaceArray(map)) {
      cells.set(index, InterfaceArray.cell(65_543, 65_535));
      assertEquals(65_543, InterfaceArray.ifindex(cells.get(index)));
      assertEquals(65_535, InterfaceArray.endpointId(cells.get(index)));
      try (MapCursor cursor = new MapCursor()) {
        assertEquals(0, cursor.open(map));
        assertTrue(cursor.next());
        assertEquals(7, cursor.key().getInt(0));
        final InterfaceCellFlyweight cell = new InterfaceCellFlyweight().wrap(cursor.value(), 0);
        assertEquals(65_543, cell.ifindex());
        assertEquals(65_535, cell.endpointId());
      }
      assertEquals(1, map.countEntries());
      cells.set(index, 0);
      assertEquals(0, map.countEntries());
    }
  }

  @Test
  void shouldKeepEndpointsAndIpcacheEntries() {
    final BpfMap map = create(SHIPPED.get(MapCatalog.ENDPOINTS));
    final EndpointMap endpoints = new EndpointMap(map);
    endpoints.edit(9).ifindex(7).identity(2031).mac(0x0200_5e10_2030L).ipv6(-1, -1);
    assertEquals(0, endpoints.put());
    assertEquals(0, endpoints.lookup(9));
    assertEquals(7, endpoints.found().ifindex());
    assertEquals(0x0200_5e10_2030L, endpoints.found().mac());
    assertEquals(9, endpoints.found().endpointId());
    assertEquals(1, map.countEntries());
    assertEquals(0, endpoints.clear(9));
    assertEquals(0, map.countEntries());
    endpoints.edit(65_536).ifindex(1);
    assertEquals(-Errno.E2BIG, endpoints.put());

    final BpfMap map4 = create(SHIPPED.get(MapCatalog.IPCACHE4));
    final BpfMap map6 = create(SHIPPED.get(MapCatalog.IPCACHE6));
    final IpcacheEdits edits = new IpcacheEdits(map4, map6);
    final Ipcache4Map ipcache4 = new Ipcache4Map(map4);
    assertEquals(0, edits.upsert(0x0a000000, 8, 16777217, 0, 0));
    assertEquals(0, ipcache4.upsert(0x0a010007, 32, 2031, 12, 0));
    assertEquals(0, ipcache4.lookup(0x0a010007, 32));
    assertEquals(12, ipcache4.found().endpointId());
    assertEquals(0, ipcache4.lookup(0x0a010008, 32));
    assertEquals(16777217, ipcache4.found().identity());
    assertEquals(-Errno.ENOENT, ipcache4.lookup(0x0b010008, 32));
    assertEquals(-Errno.ENOENT, edits.delete(0x0a000000, 9));
    assertEquals(0, edits.delete(0x0a000000, 8));
    assertEquals(-Errno.ENOENT, ipcache4.lookup(0x0a010008, 32));

    final Ipcache6Map ipcache6 = new Ipcache6Map(map6);
    assertEquals(0, edits.upsert(0xfd00_0000_0000_0000L, 0, 64, 3, 0, 0));
    assertEquals(0, ipcache6.lookup(0xfd00_0000_0000_0000L, 77, 128));
    assertEquals(3, ipcache6.found().identity());
    assertEquals(-Errno.ENOENT, ipcache6.lookup(0xfd00_0000_0000_0001L, 77, 128));
    assertEquals(0, edits.delete(0xfd00_0000_0000_0000L, 0, 64));
    assertEquals(-Errno.ENOENT, ipcache6.lookup(0xfd00_0000_0000_0000L, 77, 128));
  }

  @Test
  void shouldFindAFlowFromBothDirections() {
    final Conntrack4Map flows = new Conntrack4Map(create(SHIPPED.get(MapCatalog.CONNTRACK4_TCP)));
    flows
        .foundKey()
        .clear()
        .lowAddress(0x0a010007)
        .lowPort(43210)
        .highAddress(0x0a010009)
        .highPort(80)
        .protocol(TCP);
    flows.found().clear().flags(ConntrackFlag.SEEN_REPLY.number());
    assertEquals(0, flows.put());
    assertEquals(0, flows.find(0x0a010007, 43210, 0x0a010009, 80, TCP));
    assertEquals(0, flows.find(0x0a010009, 80, 0x0a010007, 43210, TCP));
    assertEquals(ConntrackFlag.SEEN_REPLY.number(), flows.found().flags());
    assertEquals(-Errno.ENOENT, flows.find(0x0a010009, 81, 0x0a010007, 43210, TCP));
    assertEquals(0, flows.find(0x0a010009, 80, 0x0a010007, 43210, TCP));
    assertEquals(0, flows.deleteFound());
    assertEquals(-Errno.ENOENT, flows.find(0x0a010007, 43210, 0x0a010009, 80, TCP));

    final Conntrack6Map flows6 = new Conntrack6Map(create(SHIPPED.get(MapCatalog.CONNTRACK6_ANY)));
    flows6.foundKey().clear().lowAddress(1, 2).lowPort(3).highAddress(4, 5).highPort(6);
    assertEquals(0, flows6.put());
    assertEquals(0, flows6.find(4, 5, 6, 1, 2, 3, 0));
  }

  @Test
  void shouldShareGenerationsAndCellsWithTheKernelThroughMappedMemory() {
    final BpfMap map = create(SHIPPED.get(MapCatalog.GENERATIONS));
    final EntryBuffer entry = new EntryBuffer(map);
    try (GenerationArray generations = new GenerationArray(map)) {
      assertEquals(0, generations.get(65_535));
      assertEquals(1, generations.bump(65_535));
      assertEquals(2, generations.bump(65_535));
      assertEquals(1, generations.bump(0));
      entry.key().putInt(0, 65_535);
      assertEquals(0, map.lookup(entry));
      assertEquals(2, entry.value().getInt(0));
      entry.key().putInt(0, 1);
      entry.value().putInt(0, 77);
      assertEquals(0, map.update(entry, 0));
      assertEquals(77, generations.get(1));
      assertNoAllocation(() -> generations.bump(2));
    }

    final BpfMap wide = create(SHIPPED.get(MapCatalog.PREFILTER4_CELLS));
    final EntryBuffer word = new EntryBuffer(wide);
    try (PrefilterWords cells = new PrefilterWords(wide)) {
      final int last = PrefilterGeometry.CELL_WORDS - 1;
      cells.word(0x0a0001 >>> 5, 3L << 2 | 1L << 4);
      cells.word(last, -1L);
      word.key().putInt(0, 0x0a0001 >>> 5);
      assertEquals(0, wide.lookup(word));
      assertEquals(3L << 2 | 1L << 4, word.value().getLong(0));
      word.key().putInt(0, last);
      word.value().putLong(0, 5);
      assertEquals(0, wide.update(word, 0));
      assertEquals(5, cells.word(last));
      assertNoAllocation(() -> cells.word(77, 1));
    }
  }

  @Test
  void shouldSumCountersOverCpus() {
    final BpfMap map = create(SHIPPED.get(MapCatalog.METRICS));
    final EntryBuffer entry = new EntryBuffer(map);
    entry.key().putInt(0, 1 << 8 | 5);
    long expected = 0;
    for (int offset = 0; offset < map.copiedValueSize(); offset += 16) {
      entry.value().putLong(offset, offset + 3);
      entry.value().putLong(offset + 8, 1000);
      expected += offset + 3;
    }
    assertEquals(0, map.update(entry, 0));
    final MetricsMap metrics = new MetricsMap(map);
    assertEquals(0, metrics.refresh());
    assertEquals(expected, metrics.packets(1, 5));
    assertEquals(1000L * map.copiedValueSize() / 16, metrics.bytes(1, 5));
    assertEquals(0, metrics.packets(0, 5));

    final BpfMap lostMap = create(SHIPPED.get(MapCatalog.EVENTS_LOST));
    final EntryBuffer lostEntry = new EntryBuffer(lostMap);
    lostEntry.value().setMemory(0, lostMap.copiedValueSize(), (byte) 0);
    lostEntry.value().putLong(0, 41);
    assertEquals(0, lostMap.update(lostEntry, 0));
    assertEquals(41, new LostEvents(lostMap).read());
  }

  @Test
  void shouldAllocateNothingPerOperation() {
    final PolicyMap policy = new PolicyMap(create(SHIPPED.policy(1)));
    assertNoAllocation(
        () -> {
          policy.upsert(2031, 0, TCP, 443, 64, 0, 0);
          policy.lookup(2031, 0, TCP, 443, 64);
          policy.found().flags();
          policy.delete(2031, 0, TCP, 443, 64);
        });
    final Ipcache4Map ipcache4 = new Ipcache4Map(create(SHIPPED.get(MapCatalog.IPCACHE4)));
    final Ipcache6Map ipcache6 = new Ipcache6Map(create(SHIPPED.get(MapCatalog.IPCACHE6)));
    assertNoAllocation(
        () -> {
          ipcache4.upsert(1, 32, 2, 3, 0);
          ipcache4.lookup(1, 32);
          ipcache6.lookup(1, 2, 128);
        });
    final EndpointMap endpoints = new EndpointMap(create(SHIPPED.get(MapCatalog.ENDPOINTS)));
    final Conntrack4Map flows = new Conntrack4Map(create(SHIPPED.get(MapCatalog.CONNTRACK4_ANY)));
    assertNoAllocation(
        () -> {
          endpoints.edit(4).ifindex(1);
          endpoints.put();
          endpoints.lookup(4);
          endpoints.clear(4);
          flows.foundKey().clear().lowAddress(1).highAddress(2);
          flows.put();
          flows.find(2, 0, 1, 0, 0);
          flows.deleteFound();
        });
    final MetricsMap metrics = new MetricsMap(create(SHIPPED.get(MapCatalog.METRICS)));
    final LostEvents lost = new LostEvents(create(SHIPPED.get(MapCatalog.EVENTS_LOST)));
    final Runnable counters =
        () -> {
          metrics.refresh();
          lost.read();
        };
    HeapAllocation.of(500, counters);
    assertEquals(0, HeapAllocation.steady(500, counters));
  }

  @Test
  void shouldKeepTheDescriptorWhileAReaderHoldsIt() {
    final BpfMap map = BpfMap.create(SHIPPED.policy(3), "");
    assertTrue(map.retain());
    map.close();
    map.close();
    assertEquals(map.description().id(), MapDescription.of(map.fd()).id());
    map.release();
    assertFalse(map.retain());
  }

  @Test
  void shouldCloseTheDescriptorOnceForTwoThreads() throws Exception {
    final BpfMap map = BpfMap.create(SHIPPED.policy(3), "");
    assertTrue(map.retain());
    final OtherThread<Void> other;
    synchronized (map) { // as a close does
      other = OtherThread.run(map::close);
      assertTrue(other.waits());
      map.close();
    }
    other.result();
    assertEquals(map.description().id(), MapDescription.of(map.fd()).id());
    map.release();
    assertFalse(map.retain());
  }

  @Test
  void shouldKeepTheDescriptorForAsManyReadersAsThereAre() throws Exception {
    final BpfMap map = BpfMap.create(SHIPPED.policy(3), "");
    final Consumer<Integer> read =
        round -> {
          assertTrue(map.retain());
          map.release();
        };
    OtherThread.collide(Collections.nCopies(20_000, 0), read, read);
    map.close();
    assertFalse(map.retain());
  }
}
