package agent.datapath.manager.service;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.Errno;
import agent.conductor.Repairs;
import agent.conductor.Work;
import agent.datapath.manager.service.ServiceRows.Part;
import agent.datapath.spec.ServiceEntries;
import agent.datapath.spec.ServiceEntries.Backend;
import agent.datapath.spec.ServiceProxy.KeptFrontend;
import agent.maps.kernel.BpfMapException;
import agent.maps.layout.BackendState;
import agent.maps.layout.ServiceGate;
import agent.maps.layout.ServiceScope;
import agent.reconcile.MapFaults;
import agent.reconcile.PeriodicComparison;
import agent.reconcile.Reconciler;
import agent.reconcile.RefusedEntries;
import agent.reconcile.TargetMap;
import agent.testkit.HeapAllocation;
import agent.types.IpAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.agrona.DirectBuffer;
import org.agrona.MutableDirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What the maps of services hold; a part of a table has 64 cells. */
class ServiceTablesTest {
  private static final int ID = 7;
  private static final int MOST_CELLS = 16_381;

  private final List<String> writes = new ArrayList<>();
  private final MemoryMap frontends = map(Part.FRONTENDS, 100);
  private final MemoryMap slots = map(Part.SLOTS, 100);
  private final MemoryMap headers = map(Part.HEADERS, 100);
  private final MemoryMap cells = map(Part.CELLS, 140);
  private final MemoryMap ends = map(Part.ENDS, 60);
  private final MemoryMap backends = map(Part.BACKENDS, 100);
  private final MemoryMap gate = new MemoryMap("gate", Integer.BYTES, Integer.BYTES, 1, writes);
  private final TreeMap<String, String> faults = new TreeMap<>();
  private long nowNs;
  private final RefusedEntries refused = new RefusedEntries();
  private Reconciler reconciler;
  private ServiceTables tables = started();

  private MemoryMap map(Part part, int room) {
    return new MemoryMap(
        part.name().toLowerCase(Locale.ROOT),
        PlacedRows.keyBytes(part),
        PlacedRows.valueBytes(part),
        room,
        writes);
  }

  private MemoryMap mapOf(Part part) {
    return switch (part) {
      case FRONTENDS -> frontends;
      case SLOTS -> slots;
      case HEADERS -> headers;
      case CELLS -> cells;
      case ENDS -> ends;
      case BACKENDS -> backends;
    };
  }

  private ServiceTables started() {
    reconciler = new Reconciler(() -> nowNs, refused);
    return new ServiceTables(reconciler, new ServiceFaults(), this::mapOf, gate, MOST_CELLS);
  }

  private final class ServiceFaults implements MapFaults {
    @Override
    public void degraded(String subject, String found) {
      faults.put(subject, found);
    }

    @Override
    public void failed(String subject, String found) {
      faults.put(subject, found);
    }

    @Override
    public void clear(String subject) {
      faults.remove(subject);
    }
  }

  /** Returns the result of a change, once it is in force. */
  private <T> T realized(CompletableFuture<T> change) {
    while (!change.isDone()) {
      assertEquals(Work.Progress.WORKED, reconciler.step());
    }
    try {
      return change.join();
    } catch (CompletionException failure) {
      throw (RuntimeException) failure.getCause();
    }
  }

  private ServiceEntries put(ServiceEntries service) {
    return realized(tables.put(tables.placed(service)));
  }

  private ServiceEntries remove(int id) {
    return realized(tables.remove(id));
  }

  /** Returns how many entries a comparison has repaired. */
  private int repaired() {
    final PeriodicComparison comparison = new PeriodicComparison(tables.all(), new Repairs());
    int repaired = 0;
    int step = comparison.step();
    while (step != PeriodicComparison.END_OF_ROUND) {
      repaired += step;
      step = comparison.step();
    }
    return repaired;
  }

  @BeforeEach
  void restoreNothing() {
    assertFalse(restore(Set.of()).isChanged());
    writes.clear();
  }

  private ServiceTables.Restored restore(Set<Integer> kept, ServiceEntries... services) {
    return realized(tables.restore(List.of(services), kept));
  }

  private static ServiceEntries service(int id, int frontend, int backends) {
    final List<Backend> all = new ArrayList<>();
    for (int i = 1; i <= backends; i++) {
      all.add(new Backend(IpAddress.parse("10.1.0." + i), 80, BackendState.ACTIVE, 1));
    }
    return new ServiceEntries(
        id, IpAddress.parse("10.96.0." + frontend), 80, List.of(6), 0, List.copyOf(all));
  }

  private static ServiceEntries service(int id, int backends) {
    return service(id, id, backends);
  }

  private void assertEntries(int... counts) {
    final int[] found = {
      frontends.held.size(),
      slots.held.size(),
      headers.held.size(),
      cells.held.size(),
      ends.held.size(),
      backends.held.size()
    };
    assertEquals(Arrays.toString(counts), Arrays.toString(found));
  }

  private Map<String, String> content() {
    final Map<String, String> content = new TreeMap<>();
    for (final MemoryMap table : List.of(frontends, slots, headers, cells, ends, backends, gate)) {
      table.held.forEach(
          (key, value) ->
              content.put(
                  System.identityHashCode(table) + HexFormat.of().formatHex(key.array()),
                  HexFormat.of().formatHex(value)));
    }
    return content;
  }

  private List<String> takeWrites() {
    final List<String> taken = writes.stream().distinct().toList();
    writes.clear();
    return taken;
  }

  @Test
  void shouldWriteWhatAnEntryRefersToBeforeItAndDeleteItAfter() {
    assertTrue(tables.isEmpty());
    assertNull(put(service(ID, 10)));
    assertFalse(tables.isEmpty());
    assertEntries(1, 10, 1, 16, 10, 10);
    assertEquals(
        List.of("+backends", "+slots", "+ends", "+cells", "+headers", "+frontends"), takeWrites());
    assertEquals(service(ID, 10), remove(ID));
    assertEquals(
        List.of("-frontends", "-headers", "-cells", "-ends", "-slots", "-backends"), takeWrites());
    assertEntries(0, 0, 0, 0, 0, 0);
    assertTrue(tables.isEmpty());
    assertNull(remove(ID));
  }

  @Test
  void shouldReplaceAServiceAndRemoveWhatItNoLongerHas() {
    final ServiceEntries before = service(ID, 10);
    put(before);
    assertSame(before, put(service(ID, ID + 1, 9)));
    assertEntries(1, 9, 1, 16, 9, 9);
    put(service(ID, 1));
    assertEntries(1, 1, 0, 0, 0, 1);
  }

  @Test
  void shouldNotShrinkATableUntilItsServiceIsRemoved() {
    put(service(ID, 11));
    put(service(ID, 9));
    assertEntries(1, 9, 1, 32, 9, 9);
    tables = started();
    restore(Set.of(), service(ID, 9));
    assertEntries(1, 9, 1, 32, 9, 9);
    remove(ID);
    put(service(ID, 9));
    assertEntries(1, 9, 1, 16, 9, 9);
  }

  /** The sizes that were read at the begin are those of services that are there at the end. */
  @Test
  void shouldForgetTheSizeOfATableThatWasNotRestored() {
    put(service(ID, 11));
    tables = started();
    assertTrue(restore(Set.of()).isChanged());
    assertEntries(0, 0, 0, 0, 0, 0);
    put(service(ID, 9));
    assertEntries(1, 9, 1, 16, 9, 9);
  }

  @ParameterizedTest
  @ValueSource(strings = {"backends", "slots", "frontends", "cells", "ends", "headers"})
  void shouldPutTheFormerServiceBackWhereOneIsRefused(String refusing) {
    put(service(ID, 9));
    final Map<String, String> before = content();
    refuse(refusing, Errno.EACCES);
    final ServiceEntries wanted = service(ID, ID + 1, 11);
    assertEquals(Errno.EACCES, assertThrows(BpfMapException.class, () -> put(wanted)).errno());
    assertEquals(before, content());
    assertEquals(0, refused.size());
    assertEquals(Map.of(), faults);
    final List<String> untouched = takeWrites();
    put(service(ID, 9));
    assertEquals(List.of(), takeWrites(), () -> "written again after " + untouched);
    assertEquals(before, content(), "of the former size");
  }

  @Test
  void shouldLeaveNothingOfANewServiceThatIsRefused() {
    refuse("frontends", Errno.EACCES);
    assertThrows(BpfMapException.class, () -> put(service(ID, 11)));
    assertEntries(0, 0, 0, 0, 0, 0);
    assertTrue(tables.isEmpty());
    put(service(ID, 9));
    assertEntries(1, 9, 1, 16, 9, 9);
  }

  private void refuse(String name, int errno) {
    mapOf(Part.valueOf(name.toUpperCase(Locale.ROOT))).refusal = errno;
  }

  @Test
  void shouldServeWithoutATableUntilThereIsRoomForItsEnds() {
    put(service(ID + 1, 58));
    takeWrites();
    put(service(ID, 3));
    assertEquals(List.of("+backends", "+slots", "+frontends"), takeWrites());
    assertEntries(2, 61, 1, 128, 58, 61);
    remove(ID + 1);
    put(service(ID, 3));
    assertEntries(1, 3, 1, 8, 3, 3);
  }

  @Test
  void shouldServeWithoutATableUntilThereIsRoomForItsCells() {
    put(service(ID + 1, 50));
    put(service(ID, 10));
    assertEntries(2, 60, 1, 128, 50, 60);
    put(service(ID, 3));
    assertEntries(2, 53, 2, 136, 53, 53);
  }

  /** What it has already takes no further room. */
  @Test
  void shouldKeepATableInMapsThatAreAlmostFull() {
    put(service(ID, 50));
    put(service(ID, ID + 1, 50));
    assertEntries(1, 50, 1, 128, 50, 50);
  }

  @ParameterizedTest
  @ValueSource(ints = {Errno.E2BIG, Errno.ENOMEM})
  void shouldServeWithoutATableThatTheKernelHasNoRoomFor(int errno) {
    refuse("headers", errno);
    put(service(ID, 10));
    assertEntries(1, 10, 0, 0, 0, 10);
    remove(ID);
    assertEntries(0, 0, 0, 0, 0, 0);
  }

  @Test
  void shouldKeepServicesWithoutARecordUntilTheyAreRemoved() {
    put(service(ID, 10));
    put(service(ID + 1, 2));
    tables = started();
    final ServiceTables.Restored restored = restore(Set.of(ID));
    assertTrue(restored.isChanged());
    assertEntries(1, 10, 1, 16, 10, 10);
    assertFalse(tables.isEmpty());
    assertEquals(
        List.of(new KeptFrontend(ID, IpAddress.parse("10.96.0.7"), 80, 6)), restored.frontends());
    assertNull(remove(ID));
    assertEntries(0, 0, 0, 0, 0, 0);
    assertTrue(tables.isEmpty());
  }

  @Test
  void shouldLeaveAFrontendToTheServiceThatTookIt() {
    put(service(ID, 2));
    tables = started();
    final ServiceTables.Restored restored = restore(Set.of(ID), service(ID + 1, ID, 2));
    assertTrue(restored.isChanged());
    assertEquals(List.of(), restored.frontends());
    assertNull(remove(ID));
    assertEntries(1, 2, 1, 4, 2, 2);
    assertEquals(0, repaired(), "what is there is desired");
  }

  /** A frontend that another service took while the kept one was there. */
  @Test
  void shouldNotRemoveTheFrontendThatAnotherServiceTookLater() {
    put(service(ID, 2));
    tables = started();
    restore(Set.of(ID));
    put(service(ID + 1, ID, 2));
    remove(ID);
    assertEntries(1, 2, 1, 4, 2, 2);
  }

  @Test
  void shouldTellWhetherARestoreHasOrHadServices() {
    frontends.held.putAll(new PlacedRows(PlacedService.withCells(service(ID, 1), 0)).frontends());
    tables = started();
    assertTrue(restore(Set.of()).isChanged(), "an entry went");
    assertFalse(restore(Set.of()).isChanged());
    assertTrue(restore(Set.of(), service(ID, 2)).isChanged(), "a service came");
    assertTrue(restore(Set.of(), service(ID, 2)).isChanged(), "a service stays");
    assertTrue(restore(Set.of()).isChanged(), "a service went");
    assertEntries(0, 0, 0, 0, 0, 0);
  }

  private static ServiceEntries outside(ServiceEntries service) {
    return new ServiceEntries(
        service.id(),
        service.address(),
        service.port(),
        service.protocols(),
        0,
        Set.of(ServiceScope.values()),
        service.backends());
  }

  private int gate() {
    return new UnsafeBuffer(gate.held.values().iterator().next()).getInt(0);
  }

  @Test
  void shouldOpenTheGateAfterTheFirstFrontendForThoseOutside() {
    assertEquals(ServiceGate.CLOSED.number(), gate());
    put(service(ID, 1));
    assertEquals(ServiceGate.CLOSED.number(), gate());
    takeWrites();
    put(outside(service(ID + 1, 1)));
    assertEquals(List.of("+backends", "+slots", "+frontends", "+gate"), takeWrites());
    assertEquals(ServiceGate.OPEN.number(), gate());
    put(outside(service(ID, 1)));
    remove(ID + 1);
    assertEquals(ServiceGate.OPEN.number(), gate());
    put(service(ID, 1));
    assertEquals(ServiceGate.CLOSED.number(), gate());
    refuse("frontends", Errno.EACCES);
    assertThrows(BpfMapException.class, () -> put(outside(service(ID, 1))));
    assertEquals(ServiceGate.CLOSED.number(), gate());
  }

  /** The services of the previous run are in force until those of this one are. */
  @Test
  void shouldNotCloseTheGateWhileServicesAreRestored() {
    put(service(ID, 1));
    put(outside(service(ID + 1, 1)));
    tables = started();
    takeWrites();
    restore(Set.of(), service(ID, 1), outside(service(ID + 1, 1)));
    assertEquals(List.of(), takeWrites());
    tables = started();
    restore(Set.of(ID + 1), service(ID, 1));
    assertEquals(ServiceGate.OPEN.number(), gate(), "a service is kept");
    assertEquals(List.of(), takeWrites());
    remove(ID + 1);
    assertEquals(ServiceGate.CLOSED.number(), gate());
    put(outside(service(ID + 1, 1)));
    tables = started();
    restore(Set.of());
    assertEquals(ServiceGate.CLOSED.number(), gate());
  }

  @Test
  void shouldKnowTheServicesThatHaveAFrontend() {
    put(service(ID, 10));
    put(service(ID + 1, 0));
    tables = started();
    assertEquals(Set.of(ID, ID + 1), realized(tables.known()));
  }

  /** The programs go on with what the maps hold. */
  @Test
  void shouldRetryWhatIsRefusedInARestore() {
    put(service(ID, 2));
    tables = started();
    refuse("backends", Errno.EACCES);
    assertThrows(BpfMapException.class, () -> restore(Set.of(), service(ID, 3)));
    assertEntries(1, 2, 1, 4, 2, 2);
    assertFalse(faults.isEmpty());
    nowNs = TimeUnit.SECONDS.toNanos(1);
    while (reconciler.step() == Work.Progress.WORKED) {}
    assertEquals(Map.of(), faults);
    assertEquals(3, backends.held.size());
    assertEquals(3, slots.held.size());
  }

  @Test
  void shouldTakeABoundedNumberOfEntriesAStep() {
    final CompletableFuture<ServiceEntries> change = tables.put(tables.placed(service(ID, 50)));
    int steps = 0;
    while (!change.isDone()) {
      final int before = writes.size();
      reconciler.step();
      assertTrue(writes.size() - before <= 64, () -> (writes.size() - before) + " writes");
      steps++;
    }
    assertEntries(1, 50, 1, 128, 50, 50);
    assertTrue(steps >= 280 / 64, steps + " steps");
  }

  /** What a request is made of is allocated once, and nothing for an entry. */
  @Test
  void shouldAllocateNothingForAnEntry() {
    final Reconciler own = new Reconciler(() -> 0, new RefusedEntries());
    final ServiceTables of =
        new ServiceTables(
            own,
            new ServiceFaults(),
            part -> new AcceptingMap(PlacedRows.keyBytes(part), PlacedRows.valueBytes(part)),
            new AcceptingMap(Integer.BYTES, Integer.BYTES),
            MOST_CELLS);
    final PlacedService[] turns = {of.placed(service(ID, 100)), of.placed(service(ID, 150))};
    final int[] turn = {0};
    final Runnable change =
        () -> {
          of.put(turns[turn[0]++ & 1]);
          while (own.step() == Work.Progress.WORKED) {}
        };
    final int changes = 20;
    assertEquals(
        0,
        HeapAllocation.steady(
            () -> Math.max(0, HeapAllocation.of(changes, change) - 2_000 * changes)));
  }

  /** A map that takes every entry. */
  private record AcceptingMap(int keyBytes, int valueBytes) implements TargetMap {
    @Override
    public String name() {
      return "accepting";
    }

    @Override
    public int update(DirectBuffer key, DirectBuffer value) {
      return 0;
    }

    @Override
    public int insert(DirectBuffer key, DirectBuffer value) {
      return 0;
    }

    @Override
    public int delete(DirectBuffer key) {
      return 0;
    }

    @Override
    public int beginWalk() {
      return 0;
    }

    @Override
    public boolean nextBatch() {
      return false;
    }

    @Override
    public boolean nextOfBatch() {
      return false;
    }

    @Override
    public MutableDirectBuffer key() {
      throw new UnsupportedOperationException();
    }

    @Override
    public MutableDirectBuffer value() {
      throw new UnsupportedOperationException();
    }

    @Override
    public int walkError() {
      return 0;
    }

    @Override
    public void endWalk() {}

    @Override
    public void forEach(BiConsumer<MutableDirectBuffer, MutableDirectBuffer> visitor) {
      throw new UnsupportedOperationException();
    }

    @Override
    public String text(MutableDirectBuffer key) {
      throw new UnsupportedOperationException();
    }

    @Override
    public RuntimeException failure(String operation, String subject, int result) {
      throw new UnsupportedOperationException();
    }
  }
}
