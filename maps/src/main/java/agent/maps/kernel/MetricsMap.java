package agent.maps.kernel;

import agent.maps.layout.MetricsDirection;
import agent.maps.layout.MetricsEntryFlyweight;
import agent.maps.layout.MetricsIndex;

/**
 * Counters of packets and bytes by direction and drop reason, summed over CPUs by {@link
 * #refresh()}. Not thread-safe.
 */
public final class MetricsMap {
  private final BpfMap map;
  private final MapCursor cursor =
      new MapCursor(MetricsIndex.REASONS * MetricsDirection.values().length);
  private final long[] packets;
  private final long[] bytes;

  public MetricsMap(BpfMap map) {
    this.map = map;
    packets = new long[map.maxEntries()];
    bytes = new long[map.maxEntries()];
  }

  /**
   * Reads all counters. Returns 0 or a negative errno; after an error some counters keep their
   * previous values.
   */
  public int refresh() {
    final int opened = cursor.open(map);
    if (opened < 0) {
      return opened;
    }
    while (cursor.next()) {
      final int index = cursor.key().getInt(0);
      packets[index] = cursor.value().getLong(MetricsEntryFlyweight.PACKETS_OFFSET);
      bytes[index] = cursor.value().getLong(MetricsEntryFlyweight.BYTES_OFFSET);
    }
    cursor.close();
    return cursor.error();
  }

  /**
   * Returns the packets counted up to the last refresh.
   *
   * @param direction a number of {@link MetricsDirection}
   * @param reason a number of {@link agent.maps.layout.DropReason}; 0 for forwarded packets
   */
  public long packets(int direction, int reason) {
    return packets[MetricsIndex.index(direction, reason)];
  }

  /**
   * Returns the bytes counted up to the last refresh; the parameters are those of {@link #packets}.
   */
  public long bytes(int direction, int reason) {
    return bytes[MetricsIndex.index(direction, reason)];
  }
}
