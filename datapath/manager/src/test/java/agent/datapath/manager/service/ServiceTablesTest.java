package agent.datapath.manager.service;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.Errno;
import agent.datapath.manager.spec.ServiceEntries;
import agent.datapath.manager.spec.ServiceEntries.Backend;
import agent.datapath.manager.spec.ServiceProxy.KeptFrontend;
import agent.maps.kernel.BpfMapException;
import agent.maps.layout.BackendState;
import agent.types.IpAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What the maps of services hold; a part of a table has 64 cells. */
class ServiceTablesTest {
  private static final int ID = 7;
  private static final int MOST_CELLS = 16_381;

  private final List<String> writes = new ArrayList<>();
  private final FakeServiceTable frontends = new FakeServiceTable("frontends", 100, writes);
  private final FakeServiceTable slots = new FakeServiceTable("slots", 100, writes);
  private final FakeServiceTable headers = new FakeServiceTable("headers", 100, writes);
  private final FakeServiceTable cells = new FakeServiceTable("cells", 140, writes);
  private final FakeServiceTable ends = new FakeServiceTable("ends", 60, writes);
  private final FakeServiceTable backends = new FakeServiceTable("backends", 100, writes);
  private ServiceTables tables = started();

  private ServiceTables started() {
    return new ServiceTables(frontends, slots, headers, cells, ends, backends, MOST_CELLS);
  }

  private ServiceEntries put(ServiceEntries service) {
    return tables.put(tables.sized(service));
  }

  @BeforeEach
  void restoreNothing() {
    assertFalse(restore(Set.of()));
  }

  private boolean restore(Set<Integer> kept, ServiceEntries... services) {
    tables.beginRestore(kept);
    assertFalse(tables.isKnown());
    tables.restore(List.of(services));
    final boolean isChanged = tables.endRestore();
    assertTrue(tables.isKnown());
    return isChanged;
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
    for (final FakeServiceTable table : List.of(frontends, slots, headers, cells, ends, backends)) {
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
    assertEquals(service(ID, 10), tables.remove(ID));
    assertEquals(
        List.of("-frontends", "-headers", "-cells", "-ends", "-slots", "-backends"), takeWrites());
    assertEntries(0, 0, 0, 0, 0, 0);
    assertTrue(tables.isEmpty());
    assertNull(tables.remove(ID));
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
    tables.remove(ID);
    put(service(ID, 9));
    assertEntries(1, 9, 1, 16, 9, 9);
  }

  /** The sizes that were read at the begin are those of services that are there at the end. */
  @Test
  void shouldForgetTheSizeOfATableThatWasNotRestored() {
    put(service(ID, 11));
    tables = started();
    assertTrue(restore(Set.of()));
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
    final FakeServiceTable table =
        Map.of(
                "frontends", frontends,
                "slots", slots,
                "headers", headers,
                "cells", cells,
                "ends", ends,
                "backends", backends)
            .get(name);
    table.refusal = errno;
  }

  @Test
  void shouldServeWithoutATableUntilThereIsRoomForItsEnds() {
    put(service(ID + 1, 58));
    takeWrites();
    put(service(ID, 3));
    assertEquals(List.of("+backends", "+slots", "+frontends"), takeWrites());
    assertEntries(2, 61, 1, 128, 58, 61);
    tables.remove(ID + 1);
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

  @ParameterizedTest
  @ValueSource(ints = {Errno.E2BIG, Errno.ENOMEM})
  void shouldServeWithoutATableThatTheKernelHasNoRoomFor(int errno) {
    refuse("headers", errno);
    put(service(ID, 10));
    assertEntries(1, 10, 0, 0, 0, 10);
    tables.remove(ID);
    assertEntries(0, 0, 0, 0, 0, 0);
  }

  @Test
  void shouldKeepServicesWithoutARecordUntilTheyAreRemoved() {
    put(service(ID, 10));
    put(service(ID + 1, 2));
    tables = started();
    assertTrue(restore(Set.of(ID)));
    assertEntries(1, 10, 1, 16, 10, 10);
    assertFalse(tables.isEmpty());
    assertEquals(
        List.of(new KeptFrontend(ID, IpAddress.parse("10.96.0.7"), 80, 6)), tables.keptFrontends());
    assertNull(tables.remove(ID));
    assertEntries(0, 0, 0, 0, 0, 0);
    assertTrue(tables.isEmpty());
  }

  @Test
  void shouldLeaveAFrontendToTheServiceThatTookIt() {
    put(service(ID, 2));
    tables = started();
    assertTrue(restore(Set.of(ID), service(ID + 1, ID, 2)));
    assertEquals(List.of(), tables.keptFrontends());
    assertNull(tables.remove(ID));
    assertEntries(1, 2, 1, 4, 2, 2);
    final ByteBuffer key = frontends.held.keySet().iterator().next();
    assertTrue(frontends.isDesired(key, frontends.held.get(key)));
  }

  /** A frontend that another service took while the kept one was there. */
  @Test
  void shouldNotRemoveTheFrontendThatAnotherServiceTookLater() {
    put(service(ID, 2));
    tables = started();
    restore(Set.of(ID));
    put(service(ID + 1, ID, 2));
    tables.remove(ID);
    assertEntries(1, 2, 1, 4, 2, 2);
  }

  @Test
  void shouldTellWhetherARestoreHasOrHadServices() {
    frontends.put(ServiceRows.of(service(ID, 1), 0).frontends());
    assertTrue(restore(Set.of()), "an entry went");
    assertFalse(restore(Set.of()));
    assertTrue(restore(Set.of(), service(ID, 2)), "a service came");
    assertTrue(restore(Set.of(), service(ID, 2)), "a service stays");
  }
}
