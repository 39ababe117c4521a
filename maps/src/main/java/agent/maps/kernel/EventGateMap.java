package agent.maps.kernel;

/** The map {@code event_gate}: what programs emit without an endpoint's options. For one thread. */
public final class EventGateMap {
  private final BpfMap map;
  private final EntryBuffer entry;

  /** Creates a writer of the open map. */
  public EventGateMap(BpfMap map) {
    this.map = map;
    entry = new EntryBuffer(map);
  }

  /**
   * Writes the bits.
   *
   * @param bits of {@link agent.maps.layout.EventGate}
   * @throws BpfMapException where the kernel refuses
   */
  public void set(int bits) {
    entry.key().putInt(0, 0);
    entry.value().putInt(0, bits);
    final int result = map.update(entry, 0);
    if (result < 0) {
      throw map.failure("update", entry, result);
    }
  }
}
