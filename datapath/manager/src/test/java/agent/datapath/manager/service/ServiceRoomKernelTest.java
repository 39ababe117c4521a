package agent.datapath.manager.service;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.maps.kernel.BpfMap;
import agent.maps.kernel.NodeMaps;
import agent.maps.kernel.ShippedMaps;
import agent.testkit.KernelTest;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

@KernelTest
class ServiceRoomKernelTest {
  private static Map<ByteBuffer, byte[]> rows(int... keys) {
    final Map<ByteBuffer, byte[]> rows = new HashMap<>();
    for (final int key : keys) {
      rows.put(ByteBuffer.allocate(Long.BYTES).putLong(0, key), new byte[20]);
    }
    return rows;
  }

  /** Without an attempt: the failure of a full map counts its entries. */
  @Test
  void shouldKnowWhetherAMapHasRoomForWhatItDoesNotHold() {
    try (BpfMap map =
        BpfMap.create(
            ShippedMaps.of("endpoint").get(NodeMaps.SERVICE_ENDS).withMaxEntries(3), "")) {
      final ServiceTable table = new ServiceTable(map);
      assertTrue(table.hasRoomFor(rows(1, 2, 3)));
      assertFalse(table.hasRoomFor(rows(1, 2, 3, 4)));
      table.put(rows(1, 2));
      assertTrue(table.hasRoomFor(rows(1, 2, 3)));
      assertTrue(table.hasRoomFor(rows(2, 4)));
      assertFalse(table.hasRoomFor(rows(2, 3, 4)));
    }
  }
}
