package agent.datapath.manager.service;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.maps.kernel.BpfMapException;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** What the table of the kernel and that of tests have in common. */
abstract class ServiceTableContract {
  static final int VALUE_BYTES = 20;

  /** Returns an empty table that takes three entries with keys of 8 and values of 20 bytes. */
  abstract ServiceTable table();

  static Map<ByteBuffer, byte[]> rows(int... keys) {
    final Map<ByteBuffer, byte[]> rows = new HashMap<>();
    for (final int key : keys) {
      rows.put(ByteBuffer.wrap(key(key)), new byte[VALUE_BYTES]);
    }
    return rows;
  }

  private static byte[] key(int key) {
    return ByteBuffer.allocate(Long.BYTES).putLong(0, key).array();
  }

  private static Map<ByteBuffer, byte[]> row(int key, int value) {
    final byte[] bytes = new byte[VALUE_BYTES];
    bytes[VALUE_BYTES - 1] = (byte) value;
    return Map.of(ByteBuffer.wrap(key(key)), bytes);
  }

  /** Returns the last byte of each value by the last byte of its key. */
  private static Map<Integer, Integer> content(ServiceTable table) {
    final Map<ByteBuffer, byte[]> found = new HashMap<>();
    table.read((key, value) -> true, found);
    final Map<Integer, Integer> content = new TreeMap<>();
    found.forEach(
        (key, value) -> content.put((int) key.get(Long.BYTES - 1), (int) value[VALUE_BYTES - 1]));
    return content;
  }

  private static boolean isDesired(ServiceTable table, int key, int value) {
    return row(key, value).entrySet().stream()
        .allMatch(row -> table.isDesired(row.getKey(), row.getValue()));
  }

  /** Without an attempt: the failure of a full map counts its entries. */
  @Test
  void shouldKnowWhetherItHasRoomForWhatItDoesNotHold() {
    final ServiceTable table = table();
    assertTrue(table.hasRoomFor(rows(1, 2, 3)));
    assertFalse(table.hasRoomFor(rows(1, 2, 3, 4)));
    table.put(rows(1, 2));
    assertTrue(table.hasRoomFor(rows(1, 2, 3)));
    assertTrue(table.hasRoomFor(rows(2, 4)));
    assertFalse(table.hasRoomFor(rows(2, 3, 4)));
  }

  @Test
  void shouldHoldTheLastValueOfAKey() {
    final ServiceTable table = table();
    table.put(row(1, 5));
    table.put(row(2, 6));
    table.put(row(1, 7));
    assertEquals(Map.of(1, 7, 2, 6), content(table));
    assertTrue(isDesired(table, 1, 7));
    assertFalse(isDesired(table, 1, 5));
    assertFalse(isDesired(table, 3, 0));
  }

  @Test
  void shouldReadWhatIsAccepted() {
    final ServiceTable table = table();
    table.put(row(1, 5));
    table.put(row(2, 6));
    final Map<ByteBuffer, byte[]> found = new HashMap<>();
    table.read((key, value) -> value.getByte(VALUE_BYTES - 1) == 6, found);
    assertEquals(row(2, 6).keySet(), found.keySet());
    found.clear();
    table.read((key, value) -> key.getByte(Long.BYTES - 1) == 1, found);
    assertEquals(row(1, 5).keySet(), found.keySet());
  }

  @Test
  void shouldRemoveAllButTheExceptions() {
    final ServiceTable table = table();
    table.put(rows(1, 2));
    table.remove(rows(1, 2, 3), rows(2));
    assertEquals(Map.of(2, 0), content(table));
    assertFalse(isDesired(table, 1, 0));
    assertTrue(isDesired(table, 2, 0));
  }

  @Test
  void shouldRefuseWhatItHasNoRoomForAndKeepTheRest() {
    final ServiceTable table = table();
    table.put(rows(1, 2, 3));
    assertEquals(7, assertThrows(BpfMapException.class, () -> table.put(row(4, 0))).errno());
    assertEquals(Map.of(1, 0, 2, 0, 3, 0), content(table));
    assertFalse(isDesired(table, 4, 0));
    table.put(row(3, 1));
    assertEquals(Map.of(1, 0, 2, 0, 3, 1), content(table));
  }

  @Test
  void shouldKeepWhatIsThereUntilTheOthersAreRemoved() {
    final ServiceTable table = table();
    table.put(rows(1, 2, 3));
    table.clear();
    assertFalse(isDesired(table, 1, 0));
    assertEquals(Map.of(1, 0, 2, 0, 3, 0), content(table));
    table.put(rows(2));
    assertEquals(2, table.removeOthers());
    assertEquals(Map.of(2, 0), content(table));
    assertEquals(0, table.removeOthers());
  }
}
