package agent.maps.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;

import agent.bindings.Errno;
import agent.bindings.bpf.MapFlag;
import agent.bindings.bpf.MapSpec;
import agent.bindings.bpf.MapType;
import agent.maps.format.MapFormats;
import agent.maps.layout.PrefilterTable;
import java.util.Optional;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;

/** Definitions before the kernel has the map. */
class MapDefinitionTest {
  private static final int OTHER_FLAG = 1 << 7;

  private static MapDefinition hash(int flags) {
    return MapCatalog.IPCACHE4.of(MapSpec.of(MapType.HASH, "m", 4, 8, 100, flags));
  }

  @Test
  void shouldChangeOnePartAndKeepTheOthers() {
    final MapDefinition map = hash(OTHER_FLAG);
    assertEquals("m", map.name());
    assertEquals(
        new MapDefinition(
            MapSpec.of(MapType.HASH, "m", 4, 8, 7, OTHER_FLAG), MapFormats.IPCACHE4, true),
        map.withMaxEntries(7));
    assertEquals(
        new MapDefinition(
            MapSpec.of(MapType.HASH, "n", 4, 8, 100, OTHER_FLAG), MapFormats.IPCACHE4, true),
        map.withName("n"));
  }

  @Test
  void shouldPreallocateHashMapsAlone() {
    assertEquals(hash(OTHER_FLAG), hash(OTHER_FLAG | MapFlag.NO_PREALLOC).preallocated(true));
    assertEquals(hash(OTHER_FLAG), hash(OTHER_FLAG).preallocated(true));
    assertEquals(hash(OTHER_FLAG | MapFlag.NO_PREALLOC), hash(OTHER_FLAG).preallocated(false));
    final MapDefinition array =
        MapCatalog.METRICS.of(MapSpec.of(MapType.ARRAY, "a", 4, 8, 100, OTHER_FLAG));
    assertSame(array, array.preallocated(false));
    assertSame(array, array.preallocated(true));
  }

  @Test
  void shouldShowTheBytesOfAMapWhoseFieldsAreUnknown() {
    final MapDefinition map = MapDefinition.of(MapSpec.of(MapType.HASH, "m", 2, 3, 1, 0));
    assertFalse(map.hasMirror());
    final UnsafeBuffer bytes = new UnsafeBuffer(new byte[] {1, 2, 3, 4});
    final StringBuilder out = new StringBuilder();
    map.format().appendKey(out, bytes, 0, bytes, 0);
    map.format().appendValue(out.append(' '), bytes, 0, bytes, 0);
    assertEquals("0102 010203", out.toString());
  }

  @Test
  void shouldPutTheLayoutIntoTheNameOfThePinFromTheSecondOn() {
    final MapProperties map = new MapProperties("m", MapFormats.IPCACHE4, true, 1);
    assertEquals("m", map.pinName());
    assertEquals("m_v2", map.withLayout(2).pinName());
    assertEquals(new MapProperties("m", MapFormats.IPCACHE4, true, 3), map.withLayout(3));
  }

  @Test
  void shouldFindTheMapsOfTheNodeByTheirNames() {
    assertEquals(Optional.of(MapCatalog.METRICS), MapCatalog.named("metrics"));
    assertEquals(Optional.empty(), MapCatalog.named("metric"));
  }

  @Test
  void shouldDefineEachTableOfThePrefilterWithItsSlots() {
    final MapDefinitions shipped = MapDefinitions.of("endpoint", "prefilter");
    final String[] names = {"prefilter_list", "prefilter4_table", "prefilter6_table"};
    for (final PrefilterTable table : PrefilterTable.values()) {
      final MapDefinition map = shipped.prefilterTable(table, 1234);
      assertEquals(names[table.number()], map.name());
      assertEquals(1234, map.spec().maxEntries());
      assertFalse(map.hasMirror());
    }
  }

  @Test
  void shouldReportTheErrorOfAMapBesideItsText() {
    final BpfMapException failure = new BpfMapException("map m: update: ENOSPC", Errno.ENOSPC);
    assertEquals(Errno.ENOSPC, failure.errno());
    assertEquals("map m: update: ENOSPC", failure.getMessage());
  }
}
