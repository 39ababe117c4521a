package agent.datapath.manager.service;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import agent.maps.kernel.BpfMap;
import agent.maps.kernel.BpfMapException;
import agent.maps.kernel.MapCatalog;
import agent.maps.kernel.MapDefinitions;
import agent.maps.kernel.MapWriteListener;
import agent.testkit.KernelTest;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.agrona.DirectBuffer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

@KernelTest
class ServiceMapKernelTest extends ServiceTableContract {
  private final BpfMap map =
      BpfMap.create(
          MapDefinitions.of("endpoint").get(MapCatalog.SERVICE_ENDS).withMaxEntries(3), "");

  @Override
  ServiceTable table() {
    return new ServiceMap(map);
  }

  @AfterEach
  void close() {
    map.close();
  }

  /** Entries are written together, and the one that the kernel refuses is among them. */
  @Test
  void shouldTellTheListenerOfEachEntryAndKeepThoseBeforeARefusedOne() {
    final List<Integer> results = new ArrayList<>();
    final List<Byte> keys = new ArrayList<>();
    map.writeListener(
        new MapWriteListener() {
          @Override
          public void onUpdate(BpfMap written, DirectBuffer key, DirectBuffer value, int result) {
            assertEquals(List.of(map.keySize(), map.valueSize()), sizes(key, value));
            keys.add(key.getByte(Long.BYTES - 1));
            results.add(result);
          }

          @Override
          public void onDelete(BpfMap written, DirectBuffer key, int result) {
            throw new AssertionError("nothing is deleted");
          }

          @Override
          public void onBulkWrite(BpfMap written) {
            throw new AssertionError("the reader of the map would copy all of it again");
          }
        });
    final ServiceTable table = table();
    final Map<ByteBuffer, byte[]> rows = rows(1, 2, 3, 4, 5);
    assertEquals(7, assertThrows(BpfMapException.class, () -> table.put(rows)).errno());
    assertEquals(List.of(0, 0, 0, -7), results, "none after the refused one");
    final List<Byte> desired =
        rows.entrySet().stream()
            .filter(row -> table.isDesired(row.getKey(), row.getValue()))
            .map(row -> row.getKey().get(Long.BYTES - 1))
            .toList();
    assertEquals(keys.subList(0, 3), desired);
    results.clear();
    table.put(rows(keys.get(1), keys.get(2)));
    assertEquals(List.of(), results, "what is there is not written again");
  }

  private static List<Integer> sizes(DirectBuffer key, DirectBuffer value) {
    return List.of(key.capacity(), value.capacity());
  }
}
