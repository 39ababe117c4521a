package agent.maps.kernel;

import agent.bindings.bpf.MapFlag;
import agent.maps.layout.EndpointEntryFlyweight;

/**
 * Typed access to the map {@code endpoints}, indexed by endpoint id. Methods return 0 or a negative
 * errno. Not thread-safe.
 */
public final class EndpointMap {
  private final BpfMap map;
  private final EntryBuffer entry;
  private final EndpointEntryFlyweight value = new EndpointEntryFlyweight();

  public EndpointMap(BpfMap map) {
    this.map = map;
    entry = new EntryBuffer(map);
    value.wrap(entry.value(), 0);
  }

  /** Returns the value that {@link #put()} writes, cleared but for the endpoint's id. */
  public EndpointEntryFlyweight edit(int endpointId) {
    entry.key().putInt(0, endpointId);
    return value.clear().endpointId(endpointId);
  }

  /** Writes the edited value to the slot of its endpoint. */
  public int put() {
    return map.update(entry, MapFlag.ANY);
  }

  /** Writes zeros into the slot, which means that no endpoint has this id. */
  public int clear(int endpointId) {
    entry.key().putInt(0, endpointId);
    value.clear();
    return map.update(entry, MapFlag.ANY);
  }

  /** Reads the slot into {@link #found()}; returns -ENOENT if the id is out of range. */
  public int lookup(int endpointId) {
    entry.key().putInt(0, endpointId);
    return map.lookup(entry);
  }

  /** Returns the value that the last lookup found; valid until the next operation. */
  public EndpointEntryFlyweight found() {
    return value;
  }

  /** Creates the exception of a failure, which names the endpoint of the last operation. */
  public BpfMapException failure(String operation, int result) {
    return map.failure(operation, entry, result);
  }
}
