package agent.maps.kernel;

import agent.maps.layout.MetricsEntryFlyweight;

/**
 * Packets and bytes by direction and drop reason, summed over CPUs at {@link #refresh()}. One
 * thread uses it.
 */
public final class MetricsMap {
  private static final int REASONS = 256;

  private final BpfMap map;
  private final MapCursor cursor = new MapCursor(REASONS * 3);
  private final long[] packets;
  private final long[] bytes;

  public MetricsMap(BpfMap map) {
    this.map = map;
    packets = new long[map.maxEntries()];
    bytes = new long[map.maxEntries()];
  }

  public BpfMap map() {
    return map;
  }

  /** Reads all counters; 0, or a negative errno, and then some counters are of the time before. */
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
   * Packets at the last refresh.
   *
   * @param direction of {@link agent.maps.layout.MetricsDirection}
   * @param reason of {@link agent.maps.layout.DropReason}; 0: forwarded
   */
  public long packets(int direction, int reason) {
    return packets[direction * REASONS + reason];
  }

  /** Bytes at the last refresh; parameters as of {@link #packets}. */
  public long bytes(int direction, int reason) {
    return bytes[direction * REASONS + reason];
  }
}
