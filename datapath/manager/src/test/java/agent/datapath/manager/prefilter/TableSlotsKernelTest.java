package agent.datapath.manager.prefilter;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.Errno;
import agent.bindings.bpf.MapSpec;
import agent.conductor.ModuleHealth.Level;
import agent.conductor.Repairs;
import agent.datapath.guard.KernelFaults;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.BpfMapException;
import agent.maps.kernel.MapCatalog;
import agent.maps.kernel.MapDefinition;
import agent.maps.kernel.MapDefinitions;
import agent.maps.kernel.PrefilterTables;
import agent.maps.layout.PrefilterTable;
import agent.reconcile.DesiredTable;
import agent.reconcile.ImmediateChanges;
import agent.reconcile.PeriodicComparison;
import agent.reconcile.Realization;
import agent.reconcile.Reconciler;
import agent.reconcile.RefusedEntries;
import agent.testkit.KernelTest;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The slots of the prefilter as a map of desired entries. */
@KernelTest
class TableSlotsKernelTest {
  private static final MapDefinitions SHIPPED = MapDefinitions.of("prefilter");

  private static final int BPF_F_WRONLY = 1 << 4;

  private final BpfMap map = BpfMap.create(SHIPPED.get(MapCatalog.PREFILTER_TABLES), "");
  private final PrefilterTables kernel = new PrefilterTables(map);
  private final List<BpfMap> tables =
      Arrays.stream(PrefilterTable.values()).map(TableSlotsKernelTest::create).toList();
  private final KernelFaults faults = new KernelFaults();
  private final Repairs repairs = new Repairs();
  private long nowNs;
  private final Reconciler reconciler = new Reconciler(() -> nowNs, new RefusedEntries());
  private final ImmediateChanges changes = new ImmediateChanges(reconciler);
  private final DesiredTable slots =
      changes.add(new TableSlots(map, this::fd), 0, Realization.PLAIN, faults);
  private final PeriodicComparison comparison = new PeriodicComparison(List.of(slots), repairs);
  private boolean isOpen = true;

  private static BpfMap create(PrefilterTable table) {
    return BpfMap.create(SHIPPED.prefilterTable(table, 1), "");
  }

  private int fd(int id) {
    return tables.stream()
        .filter(table -> isOpen && id(table) == id)
        .mapToInt(BpfMap::fd)
        .findFirst()
        .orElse(-Errno.ENOENT);
  }

  @AfterEach
  void close() {
    tables.forEach(BpfMap::close);
    map.close();
  }

  private static int id(BpfMap table) {
    return table.description().id();
  }

  private static UnsafeBuffer buffer(int value) {
    final UnsafeBuffer buffer = new UnsafeBuffer(new byte[Integer.BYTES]);
    buffer.putInt(0, value);
    return buffer;
  }

  private void put(PrefilterTable table) {
    changes.put(slots, buffer(table.number()), buffer(id(tables.get(table.number()))));
  }

  private void putAll() {
    for (final PrefilterTable table : PrefilterTable.values()) {
      put(table);
    }
  }

  private void assertFilled() {
    for (final PrefilterTable table : PrefilterTable.values()) {
      assertEquals(id(tables.get(table.number())), kernel.mapId(table), table::name);
    }
  }

  private int round() {
    int repaired = 0;
    int step = comparison.step();
    while (step != PeriodicComparison.END_OF_ROUND) {
      repaired += step;
      step = comparison.step();
    }
    return repaired;
  }

  private String health() {
    return faults.read().message();
  }

  /** A read may wait for a grace period, as a write does. */
  @Test
  void shouldReadAtMostOneSlotInAStepOfTheComparison() {
    putAll();
    int steps = 0;
    while (comparison.step() != PeriodicComparison.END_OF_ROUND) {
      steps++;
    }
    assertEquals(5, steps, "three slots, their end, and those that are missing");
  }

  @Test
  void shouldPutTheTablesIntoTheirSlotsAgain() {
    putAll();
    assertFilled();
    assertEquals(0, kernel.set(PrefilterTable.LIST, tables.getLast().fd()));
    assertEquals(0, kernel.clear(PrefilterTable.IPV4));
    assertEquals(0, kernel.clear(PrefilterTable.IPV6));
    assertEquals(3, round());
    assertFilled();
    assertEquals(Level.DEGRADED, faults.read().level());
    assertEquals(
        "map prefilter_tables: 2 entries missing, 0 unexpected, 1 with a wrong value; first: wrong"
            + " value (prefilter_list)",
        health());
    assertEquals(0, round());
    assertEquals(Level.OK, faults.read().level());
  }

  @Test
  void shouldPutATableOnceItIsOpen() {
    isOpen = false;
    final BpfMapException refusal =
        assertThrows(BpfMapException.class, () -> put(PrefilterTable.IPV6));
    assertEquals("map prefilter_tables: update (prefilter6_table): ENOENT", refusal.getMessage());
    assertEquals(Level.DEGRADED, faults.read().level());
    reconciler.step();
    isOpen = true;
    reconciler.step();
    assertEquals(-Errno.ENOENT, kernel.mapId(PrefilterTable.IPV6), "it is not due yet");
    nowNs += TimeUnit.SECONDS.toNanos(1);
    reconciler.step();
    assertEquals(id(tables.getLast()), kernel.mapId(PrefilterTable.IPV6));
    assertEquals(Level.OK, faults.read().level(), this::health);
    assertEquals(0, round());
  }

  @Test
  void shouldEmptyTheSlotOfATableThatIsRemoved() {
    putAll();
    changes.remove(slots, buffer(PrefilterTable.IPV4.number()));
    assertEquals(-Errno.ENOENT, kernel.mapId(PrefilterTable.IPV4));
    assertEquals(0, round());
    assertEquals(0, kernel.set(PrefilterTable.IPV4, tables.getFirst().fd()));
    assertEquals(1, round());
    assertEquals(-Errno.ENOENT, kernel.mapId(PrefilterTable.IPV4));
    assertTrue(health().contains("first: unexpected (prefilter4_table)"), this::health);
  }

  /** What cannot be read is not empty. */
  @Test
  void shouldReportSlotsThatCannotBeRead() {
    final MapSpec unreadable =
        SHIPPED.get(MapCatalog.PREFILTER_TABLES).spec().withFlags(BPF_F_WRONLY);
    try (BpfMap other = BpfMap.create(MapDefinition.of(unreadable), "")) {
      final DesiredTable unknown =
          changes.add(new TableSlots(other, this::fd), 0, Realization.PLAIN, faults);
      assertEquals(
          "map prefilter_tables: walk (all): EPERM",
          assertThrows(BpfMapException.class, () -> changes.adopt(unknown)).getMessage());
      assertFalse(unknown.isAdopted());
    }
  }

  @Test
  void shouldAdoptTheTablesOfAPreviousRun() {
    assertEquals(0, kernel.set(PrefilterTable.IPV6, tables.getLast().fd()));
    changes.adopt(slots);
    assertEquals(1, slots.desired());
    final int row = slots.find(buffer(PrefilterTable.IPV6.number()));
    assertEquals(id(tables.getLast()), slots.held(row).getInt(0));
    assertEquals(-1, slots.find(buffer(PrefilterTable.LIST.number())));
    put(PrefilterTable.LIST);
    assertEquals(0, round(), "it stays until another one is put");
  }
}
