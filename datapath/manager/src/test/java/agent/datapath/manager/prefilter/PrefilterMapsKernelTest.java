package agent.datapath.manager.prefilter;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.Descriptors;
import agent.bindings.Errno;
import agent.bindings.bpf.LibBpf;
import agent.bindings.bpf.MapCalls;
import agent.bindings.libbpf.Libbpf;
import agent.conductor.ModuleHealth.Level;
import agent.conductor.Repairs;
import agent.conductor.Work;
import agent.datapath.guard.Check;
import agent.datapath.guard.KernelFaults;
import agent.datapath.programs.attach.Pins;
import agent.datapath.programs.load.MapPins;
import agent.datapath.programs.load.OpenMaps;
import agent.datapath.spec.DatapathContext;
import agent.datapath.spec.PrefilterStore;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.BpfMapException;
import agent.maps.kernel.MapCatalog;
import agent.maps.kernel.MapRegistry;
import agent.maps.kernel.MapWriteListener;
import agent.maps.kernel.PrefilterTables;
import agent.maps.kernel.PrefilterWords;
import agent.maps.layout.PrefilterTable;
import agent.reconcile.ImmediateChanges;
import agent.reconcile.Reconciler;
import agent.reconcile.RefusedEntries;
import agent.testkit.KernelTest;
import agent.testkit.TemporaryBpfFileSystem;
import agent.types.IpAddress;
import agent.types.Prefix;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletionException;
import org.agrona.DirectBuffer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The tables and bitmaps of the prefilter while a list is replaced, fails, and is compared. */
@KernelTest
class PrefilterMapsKernelTest {
  private static final List<PrefilterTable> TABLES = List.of(PrefilterTable.values());
  private static final List<String> BITMAPS =
      List.of("prefilter4_cells", "prefilter6_wide_cells", "prefilter6_narrow_cells");

  private final TemporaryBpfFileSystem bpf = TemporaryBpfFileSystem.mount();
  private final MapRegistry registry = new MapRegistry();
  private final KernelFaults faults = new KernelFaults();
  private final Repairs repairs = new Repairs();
  private OpenMaps open;
  private PrefilterMaps maps;
  private Check guard;

  @BeforeEach
  void create() {
    LibBpf.ensureLoaded();
    final DatapathContext context =
        new DatapathContext()
            .bpfRoot(bpf.path())
            .libDirectory(bpf.path())
            .gateway4(IpAddress.parse("10.77.0.1"))
            .gateway6(IpAddress.parse("fd77::1"))
            .conntrackTcpMax(8192)
            .conntrackAnyMax(8192)
            .preallocates(false)
            .prefilterDevice("lo")
            .prefilterStore(PrefilterStore.inMemory())
            .conclude();
    open = OpenMaps.open(context, Pins.prepare(bpf.path()), registry, new MapPins(faults, repairs));
    final Reconciler reconciler = new Reconciler(System::nanoTime, new RefusedEntries());
    maps = new PrefilterMaps(open, new ImmediateChanges(reconciler), faults, repairs);
    guard = maps.guard();
    maps.plan().rebuild(prefixes(100));
    complete(new PrefilterUpdate(maps, TABLES));
    maps.resume();
  }

  @AfterEach
  void close() {
    maps.close();
    open.close();
    bpf.close();
  }

  /** Returns sorted prefixes, which have words in each table and in each bitmap. */
  private static List<Prefix> prefixes(int count) {
    final List<Prefix> prefixes = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      prefixes.add(Prefix.of(IpAddress.ofIpv4(10 << 24 | i * 64), 27));
      prefixes.add(Prefix.of(IpAddress.ofIpv6(0xfd00_0001_0000_0000L + i, 0), 100));
      prefixes.add(Prefix.of(IpAddress.ofIpv6(0xfd01_0000_0000_0000L + ((long) i << 24), 0), 40));
    }
    return PrefixLists.sorted(prefixes);
  }

  private static void complete(PrefilterUpdate update) {
    while (update.step() != Work.Progress.DONE) {}
  }

  private BpfMap map(String name) {
    return registry.find(name).orElseThrow();
  }

  private List<Integer> registered() {
    return TABLES.stream()
        .map(table -> map(PrefilterTables.mapName(table)).description().id())
        .toList();
  }

  private List<Integer> inSlots() {
    final PrefilterTables slots = new PrefilterTables(open.get(MapCatalog.PREFILTER_TABLES));
    return TABLES.stream().map(slots::mapId).toList();
  }

  private static void assertFreed(int id) {
    final int fd = MapCalls.openById(id);
    if (fd >= 0) {
      Descriptors.close(fd);
    }
    assertEquals(-Errno.ENOENT, fd, "map " + id);
  }

  private int steps() {
    int steps = 0;
    while (guard.step(0) != Check.Progress.DONE) {
      steps++;
    }
    return steps;
  }

  private long repaired() {
    final long[] count = new long[1];
    repairs.forEach((kind, number) -> count[0] += number);
    return count[0];
  }

  /** Inverts words of a map, and asserts that a round of the guard writes what they were. */
  private void assertRepaired(String name, int... changed) {
    final long before = repaired();
    try (PrefilterWords words = new PrefilterWords(map(name))) {
      final int count = words.count();
      final int[] all = changed.length > 0 ? changed : new int[] {0, count / 2, count - 1};
      final long[] right = Arrays.stream(all).mapToLong(words::word).toArray();
      for (final int i : all) {
        words.word(i, ~words.word(i));
      }
      steps();
      assertEquals(before + all.length, repaired(), name);
      for (int i = 0; i < all.length; i++) {
        assertEquals(right[i], words.word(all[i]), name);
      }
    }
    assertEquals(Level.DEGRADED, faults.read().level());
    assertTrue(
        faults.read().message().startsWith("map " + name + ": "), () -> faults.read().message());
    steps();
    assertEquals(Level.OK, faults.read().level(), () -> faults.read().message());
    assertEquals(before + 3, repaired(), name);
  }

  private void assertAllRepaired() {
    for (final PrefilterTable table : TABLES) {
      assertRepaired(PrefilterTables.mapName(table));
    }
    BITMAPS.forEach(this::assertRepaired);
  }

  /** Of 16,384 words each: 1,310,720 of bitmaps, and those of tables. */
  @Test
  void shouldCompareABoundedPartInAStep() {
    assertEquals(5 + 80 + partsOfTables(1 << 14), steps(), "slots, bitmaps, tables");
  }

  private int partsOfTables(int part) {
    int parts = 0;
    for (final PrefilterTable table : TABLES) {
      try (PrefilterWords words = new PrefilterWords(map(PrefilterTables.mapName(table)))) {
        parts += (words.count() + part - 1) / part;
      }
    }
    return parts;
  }

  /** Other commands come between the steps. */
  @Test
  void shouldWriteABoundedPartOfATableInAStep() {
    maps.suspend();
    maps.plan().rebuild(prefixes(60_000));
    final PrefilterUpdate update = new PrefilterUpdate(maps, TABLES);
    int steps = 0;
    while (update.step() != Work.Progress.DONE) {
      steps++;
    }
    final int parts = partsOfTables(1 << 17);
    assertTrue(parts > 12, () -> parts + " parts");
    assertEquals(3 + parts + 3 + 3, steps, "tables are created, filled, in their slots; bitmaps");
  }

  @Test
  void shouldRepairEveryTableAndBitmapAlsoOfTheNextList() {
    assertAllRepaired();
    maps.suspend();
    maps.plan().rebuild(prefixes(3000));
    complete(new PrefilterUpdate(maps, TABLES));
    maps.resume();
    assertEquals(registered(), inSlots());
    assertAllRepaired();
  }

  @Test
  void shouldEndTheFaultOfATableThatIsReplaced() {
    try (PrefilterWords words = new PrefilterWords(map("prefilter4_table"))) {
      words.word(0, ~words.word(0));
    }
    steps();
    assertEquals(Level.DEGRADED, faults.read().level());
    maps.suspend();
    complete(new PrefilterUpdate(maps, TABLES));
    maps.resume();
    assertEquals(Level.OK, faults.read().level(), () -> faults.read().message());
  }

  @Test
  void shouldCompareNothingWhileAListIsReplaced() {
    steps();
    guard.step(0);
    maps.suspend();
    maps.plan().rebuild(prefixes(3000));
    final PrefilterUpdate update = new PrefilterUpdate(maps, TABLES);
    do {
      steps();
    } while (update.step() != Work.Progress.DONE);
    maps.resume();
    steps();
    assertEquals(0, repaired());
    assertEquals(Level.OK, faults.read().level(), () -> faults.read().message());
  }

  @Test
  void shouldPutTheTablesBackThatAFailedUpdateHasReplaced() {
    final List<Integer> before = inSlots();
    maps.suspend();
    maps.plan().rebuild(prefixes(3000));
    final PrefilterUpdate update = new PrefilterUpdate(maps, TABLES);
    while (inSlots().get(1).equals(before.get(1))) {
      update.step();
    }
    update.step(); // the third one is staged
    final List<Integer> refused = inSlots();
    update.failed(new BpfMapException("no memory", Errno.ENOMEM));
    assertThrows(CompletionException.class, () -> update.done().join());
    assertEquals(before, inSlots());
    assertEquals(before, registered());
    assertFreed(refused.get(0));
    assertFreed(refused.get(1));
    maps.plan().rebuild(prefixes(100));
    maps.resume();
    steps();
    assertEquals(0, repaired());
    assertAllRepaired();
  }

  /** The list is in its slot when the slots can no longer be written. */
  @Test
  void shouldReportTheSlotWhereATableCannotBePutBack() {
    final List<Integer> before = registered();
    map("prefilter_tables").writeListener(new Freezing());
    maps.suspend();
    maps.plan().rebuild(prefixes(3000));
    final PrefilterUpdate update = new PrefilterUpdate(maps, TABLES);
    final BpfMapException failure = assertThrows(BpfMapException.class, () -> complete(update));
    assertEquals("map prefilter_tables: update (prefilter4_table): EPERM", failure.getMessage());
    update.failed(failure);
    assertEquals(
        "map prefilter_tables: update (prefilter_list): EPERM",
        failure.getSuppressed()[0].getMessage());
    assertEquals(before, registered());
    assertEquals(before.subList(1, 3), inSlots().subList(1, 3));
    assertTrue(
        faults.read().message().startsWith("entries of map prefilter_tables"),
        () -> faults.read().message());
    maps.plan().rebuild(prefixes(100));
    maps.resume();
    steps();
    assertEquals(0, repaired());
  }

  /** No write of the map succeeds after the first one. */
  private static final class Freezing implements MapWriteListener {
    @Override
    public void onUpdate(BpfMap map, DirectBuffer key, DirectBuffer value, int result) {
      Libbpf.bpf_map_freeze(map.fd());
    }

    @Override
    public void onDelete(BpfMap map, DirectBuffer key, int result) {}

    @Override
    public void onBulkWrite(BpfMap map) {}
  }
}
