package agent.datapath.manager.service;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import agent.datapath.spec.ServiceEntries;
import agent.datapath.spec.ServiceEntries.Backend;
import agent.maps.layout.BackendState;
import agent.maps.layout.ServiceCellsFlyweight;
import agent.types.IpAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;

class ServiceRowsTest {
  private static final int CELLS = 1021;

  private static List<Backend> backends(int count, int port) {
    final List<Backend> backends = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      backends.add(
          new Backend(
              IpAddress.parse("10.1." + i / 200 + "." + (1 + i % 200)),
              port,
              BackendState.ACTIVE,
              1 + i % 3));
    }
    return backends;
  }

  private static PlacedRows rows(List<Backend> backends, int cells) {
    return new PlacedRows(
        PlacedService.withCells(
            new ServiceEntries(7, IpAddress.parse("10.96.0.1"), 80, List.of(6), 0, backends),
            cells));
  }

  private static void assertSame(Map<ByteBuffer, byte[]> expected, Map<ByteBuffer, byte[]> found) {
    assertEquals(expected.keySet(), found.keySet());
    expected.forEach((key, value) -> assertArrayEquals(value, found.get(key)));
  }

  @Test
  void shouldMakeTheSameTableWhateverTheOrderOfTheBackends() {
    final List<Backend> backends = backends(20, 80);
    final PlacedRows rows = rows(backends, CELLS);
    for (int seed = 0; seed < 5; seed++) {
      Collections.shuffle(backends, new Random(seed));
      final PlacedRows shuffled = rows(backends, CELLS);
      assertSame(rows.tables(), shuffled.tables());
      assertSame(rows.cells(), shuffled.cells());
      assertSame(rows.ends(), shuffled.ends());
    }
    assertEquals(16, rows.cells().size(), "of 64 cells each");
    assertEquals(20, rows.ends().size());
  }

  /** Not one entry of a table is written over by those of the next one. */
  @Test
  void shouldWriteEachTableBesideTheFormerOne() {
    final PlacedRows before = rows(backends(10, 80), CELLS);
    for (final PlacedRows after :
        List.of(rows(backends(9, 80), CELLS), rows(backends(10, 81), CELLS))) {
      assertEquals(before.tables().keySet(), after.tables().keySet());
      assertEquals(true, Collections.disjoint(before.cells().keySet(), after.cells().keySet()));
      assertEquals(true, Collections.disjoint(before.ends().keySet(), after.ends().keySet()));
    }
  }

  @Test
  void shouldTellBackendsOfOneAddressApartByTheirPorts() {
    final List<Backend> backends = new ArrayList<>(backends(1, 80));
    backends.addAll(backends(1, 81));
    final PlacedRows rows = rows(backends, CELLS);
    final int[] counts = new int[2];
    final ServiceCellsFlyweight cells = new ServiceCellsFlyweight();
    for (final byte[] part : rows.cells().values()) {
      cells.wrap(new UnsafeBuffer(part), 0);
      for (int i = 0; i < 64; i++) {
        counts[cells.backends(i)]++;
      }
    }
    assertEquals(1024, counts[0] + counts[1], "with three unused cells of zero");
    assertEquals(512, counts[0], 3);
    assertNotEquals(0, counts[1]);
  }

  @Test
  void shouldHaveNoTableWhereThereIsNothingToChooseOrTooMuch() {
    assertEquals(Map.of(), rows(backends(1, 80), CELLS).tables());
    assertEquals(Map.of(), rows(backends(10, 80), 0).cells());
    assertEquals(Map.of(), rows(backends(252, 80), 251).ends());
    assertEquals(1, rows(backends(251, 80), 251).tables().size());
  }
}
