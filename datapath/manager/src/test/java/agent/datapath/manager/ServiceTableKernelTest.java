package agent.datapath.manager;

import static agent.datapath.manager.ManagerTestNode.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.bpf.MapDescription;
import agent.bindings.bpf.MapFlag;
import agent.datapath.spec.ServiceEntries;
import agent.datapath.spec.ServiceEntries.Backend;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.EntryBuffer;
import agent.maps.kernel.MapWriteListener;
import agent.maps.layout.BackendState;
import agent.maps.layout.MapSize;
import agent.maps.layout.ServiceCellsFlyweight;
import agent.maps.layout.ServiceEndFlyweight;
import agent.maps.layout.ServiceTableFlyweight;
import agent.maps.layout.ServiceTableKeyFlyweight;
import agent.testkit.KernelTest;
import agent.testkit.TestControlGroup;
import agent.types.IpAddress;
import java.lang.ref.Reference;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The tables of services in the kernel; a part has 64 cells. */
@KernelTest
class ServiceTableKernelTest {
  private static final int ID = 7;
  private static final List<String> MAPS =
      List.of("service_tables", "service_cells", "service_ends");
  private static final List<String> ALL_MAPS =
      Stream.concat(MAPS.stream(), Stream.of("services", "service_slots", "service_backends"))
          .toList();

  private ManagerTestNode node;
  private TestControlGroup group;
  private DatapathManager manager;

  @BeforeEach
  void create() {
    node = new ManagerTestNode();
    group = TestControlGroup.create();
    launch(16_381);
  }

  private void launch(int tableMax, ServiceEntries... services) {
    manager = node.launch(node.context().cgroupRoot(group.path()).serviceTableMax(tableMax));
    await(manager.services().restore(List.of(services), Set.of()));
  }

  @AfterEach
  void remove() throws Exception {
    await(manager.services().restore(List.of(), Set.of()));
    manager.close();
    group.close();
    node.close();
  }

  private static ServiceEntries service(int id, int backends) {
    final List<Backend> all = new ArrayList<>();
    for (int i = 1; i <= backends; i++) {
      all.add(new Backend(IpAddress.parse("10.1.0." + i), 80, BackendState.ACTIVE, 1));
    }
    return new ServiceEntries(
        id, IpAddress.parse("10.96.0." + id), 80, List.of(6, 17), 0, List.copyOf(all));
  }

  private void put(ServiceEntries service) {
    await(manager.services().put(service));
  }

  private BpfMap map(String name) {
    return manager.maps().find(name).orElseThrow();
  }

  private void assertEntries(long... counts) {
    final long[] found = MAPS.stream().mapToLong(name -> map(name).countEntries()).toArray();
    assertEquals(Arrays.toString(counts), Arrays.toString(found), MAPS.toString());
  }

  /** Returns all entries of the tables as text. */
  private Map<String, String> entries() {
    final Map<String, String> entries = new TreeMap<>();
    for (final String name : MAPS) {
      final BpfMap map = map(name);
      map.forEachEntry(
          cursor -> {
            final byte[] key = new byte[map.keySize()];
            final byte[] value = new byte[map.valueSize()];
            cursor.key().getBytes(0, key);
            cursor.value().getBytes(0, value);
            entries.put(name + HexFormat.of().formatHex(key), HexFormat.of().formatHex(value));
          });
    }
    return entries;
  }

  @Test
  void shouldGrowATableAndShrinkItOnlyWhereTheServiceIsNew() {
    put(service(ID, 10));
    assertEntries(1, 16, 10);
    put(service(ID, 11));
    assertEntries(1, 32, 11);
    put(service(ID, 9));
    assertEntries(1, 32, 9);
    manager.close();
    launch(16_381, service(ID, 9));
    assertEntries(1, 32, 9);
    await(manager.services().remove(ID));
    assertEntries(0, 0, 0);
    put(service(ID, 9));
    assertEntries(1, 16, 9);
    put(service(ID, 1));
    assertEntries(0, 0, 0);
  }

  @Test
  void shouldChangeTheEntriesOfOneServiceAlone() {
    put(service(ID, 10));
    final Map<String, String> own = entries();
    put(service(ID + 1, 10));
    final Map<String, String> others = entries();
    others.keySet().removeAll(own.keySet());
    assertEquals(own.size(), others.size());
    put(service(ID, 9));
    assertTrue(entries().entrySet().containsAll(others.entrySet()));
    await(manager.services().remove(ID));
    assertEquals(others, entries());
  }

  /** Returns the backend of each cell, as a program finds it. */
  private List<String> selected() {
    final EntryBuffer header = new EntryBuffer(map("service_tables"));
    header.key().putInt(0, ID);
    final ServiceTableFlyweight table =
        new ServiceTableFlyweight().wrap(found("service_tables", header), 0);
    final List<String> found = new ArrayList<>();
    for (int first = 0; first < table.cells(); first += MapSize.SERVICE_CELLS) {
      final UnsafeBuffer part =
          part("service_cells", table.version(), first / MapSize.SERVICE_CELLS);
      final ServiceCellsFlyweight cells = new ServiceCellsFlyweight().wrap(part, 0);
      for (int i = 0; i < MapSize.SERVICE_CELLS && first + i < table.cells(); i++) {
        final UnsafeBuffer end = part("service_ends", table.version(), cells.backends(i));
        found.add(Long.toHexString(new ServiceEndFlyweight().wrap(end, 0).addressLow()));
      }
    }
    return found;
  }

  private UnsafeBuffer part(String name, int version, int index) {
    final EntryBuffer entry = new EntryBuffer(map(name));
    new ServiceTableKeyFlyweight().wrap(entry.key(), 0).serviceId(ID).version(version).index(index);
    return found(name, entry);
  }

  /** Returns a copy of the value of a key: the memory of the entry is freed with the entry. */
  private UnsafeBuffer found(String name, EntryBuffer entry) {
    assertEquals(0, map(name).lookup(entry), name);
    final byte[] value = new byte[map(name).valueSize()];
    entry.value().getBytes(0, value);
    Reference.reachabilityFence(entry);
    return new UnsafeBuffer(value);
  }

  /** What a kill of the agent leaves: all of the former table, or all of the next one. */
  @ParameterizedTest
  @ValueSource(ints = {9, 11})
  void shouldHaveTheFormerTableOrTheNextOneAfterEachWrite(int backends) {
    put(service(ID, 10));
    final List<List<String>> seen = new ArrayList<>();
    seen.add(selected());
    for (final String name : List.of("services", MAPS.get(0), MAPS.get(1), MAPS.get(2))) {
      map(name)
          .writeListener(
              new MapWriteListener() {
                @Override
                public void onUpdate(BpfMap map, DirectBuffer key, DirectBuffer value, int result) {
                  seen.add(selected());
                }

                @Override
                public void onDelete(BpfMap map, DirectBuffer key, int result) {
                  seen.add(selected());
                }

                @Override
                public void onBulkWrite(BpfMap map) {}
              });
    }
    put(service(ID, backends));
    MAPS.forEach(name -> map(name).writeListener(MapWriteListener.NONE));
    final List<String> next = selected();
    assertEquals(List.of(seen.getFirst(), next), seen.stream().distinct().toList());
    assertTrue(seen.size() > 16 + backends, "after each write: " + seen.size());
    assertEquals(next, seen.getLast());
  }

  /** Of 10,000 services, the other 9,999 cost nothing when one changes. */
  @Test
  void shouldWriteOnlyWhatDiffersWhereAServiceChanges() {
    for (int id = 1; id <= 20; id++) {
      put(service(id, 10));
    }
    final List<String> written = new ArrayList<>();
    for (final String name : ALL_MAPS) {
      map(name).writeListener(new RecordedWrites(name, written));
    }
    put(service(ID, 10));
    assertEquals(List.of(), written);
    final List<Backend> backends = new ArrayList<>(service(ID, 10).backends());
    backends.set(3, new Backend(backends.get(3).address(), 80, BackendState.TERMINATING, 0));
    put(new ServiceEntries(ID, service(ID, 0).address(), 80, List.of(6, 17), 0, backends));
    ALL_MAPS.forEach(name -> map(name).writeListener(MapWriteListener.NONE));
    assertEquals(1, Collections.frequency(written, "service_backends of " + ID));
    assertEquals(2, Collections.frequency(written, "services of " + ID), "TCP and UDP");
    assertEquals(
        ALL_MAPS.stream().map(name -> name + " of " + ID).collect(Collectors.toSet()),
        Set.copyOf(written));
    assertTrue(written.size() < 80, () -> written.size() + " writes");
  }

  private static final class RecordedWrites implements MapWriteListener {
    private final String map;
    private final List<String> written;

    RecordedWrites(String map, List<String> written) {
      this.map = map;
      this.written = written;
    }

    @Override
    public void onUpdate(BpfMap updated, DirectBuffer key, DirectBuffer value, int result) {
      written.add(map + " of " + (map.equals("services") ? value : key).getInt(0));
    }

    @Override
    public void onDelete(BpfMap deletedFrom, DirectBuffer key, int result) {
      written.add(map + " of " + key.getInt(0));
    }

    @Override
    public void onBulkWrite(BpfMap filled) {
      written.add(map + " in bulk");
    }
  }

  @Test
  void shouldHaveTheSameTablesAfterARestartAndOthersWithAnotherOption() {
    put(service(ID, 10));
    final Map<String, String> before = entries();
    manager.close();
    launch(16_381, service(ID, 10));
    assertEquals(before, entries());
    manager.close();
    launch(0, service(ID, 10));
    assertEntries(0, 0, 0);
    assertEquals(10, map("service_slots").countEntries());
    manager.close();
    launch(251, service(ID, 10));
    assertEntries(1, 4, 10);
    manager.close();
    launch(16_381, service(ID, 10));
    assertEquals(before, entries());
  }

  @Test
  void shouldKeepTheTableOfAServiceWhoseRecordCannotBeRead() {
    put(service(ID, 10));
    put(service(ID + 1, 2));
    manager.close();
    manager = node.launch(node.context().cgroupRoot(group.path()));
    await(manager.services().restore(List.of(), Set.of(ID)));
    assertEntries(1, 16, 10);
    await(manager.services().remove(ID));
    assertEntries(0, 0, 0);
  }

  @Test
  void shouldRepairATableThatAnotherToolChanges() throws Exception {
    put(service(ID, 2));
    final Map<String, String> before = entries();
    final GuardWatch watch = new GuardWatch(manager);
    for (final String name : MAPS) {
      watch.deleteEntryAndAwaitRepair(map(name));
    }
    watch.awaitRight();
    assertEquals(before, entries());
  }

  /** Preallocated entries of tables would take 135 MB of a node without services. */
  @Test
  void shouldAllocateEntriesOfTablesOnDemand() {
    for (final String name : MAPS) {
      final int flags = MapDescription.of(map(name).fd()).spec().flags();
      assertEquals(MapFlag.NO_PREALLOC, flags & MapFlag.NO_PREALLOC, name);
    }
  }

  /** Until there is room, its backends are drawn at random. */
  @Test
  void shouldServeWithoutATableWhereTheMapsAreFull() {
    manager.close();
    manager = node.launch(node.context().cgroupRoot(group.path()));
    final BpfMap ends = map("service_ends");
    final EntryBuffer entry = new EntryBuffer(ends);
    for (int id = 0; id < ends.maxEntries(); id++) {
      entry.key().putInt(0, -1 - id);
      assertEquals(0, ends.update(entry, MapFlag.ANY));
    }
    await(manager.services().restore(List.of(service(ID, 10)), Set.of()));
    assertEntries(0, 0, 0);
    assertEquals(10, map("service_slots").countEntries());
    put(service(ID, 9));
    assertEntries(1, 16, 9);
  }
}
