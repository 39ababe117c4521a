package agent.maps.kernel;

/** Counter of events that programs lost because the ring buffer was full. Not thread-safe. */
public final class LostEvents {
  private final BpfMap map;
  private final EntryBuffer entry;

  public LostEvents(BpfMap map) {
    this.map = map;
    entry = new EntryBuffer(map);
  }

  /** Returns the sum over all CPUs, or a negative errno. */
  public long read() {
    entry.key().putInt(0, 0);
    final int result = map.lookup(entry);
    if (result < 0) {
      return result;
    }
    long total = 0;
    for (int offset = 0; offset < map.copiedValueSize(); offset += Long.BYTES) {
      total += entry.value().getLong(offset);
    }
    return total;
  }
}
