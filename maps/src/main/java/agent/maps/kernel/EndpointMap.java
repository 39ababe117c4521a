package agent.maps.kernel;

import agent.bindings.MapFlag;
import agent.maps.layout.EndpointEntryFlyweight;

/** The endpoints of this node by id. Results are 0 or a negative errno; one thread uses it. */
public final class EndpointMap {
  private final BpfMap map;
  private final EntryBuffer entry;
  private final EndpointEntryFlyweight value = new EndpointEntryFlyweight();

  public EndpointMap(BpfMap map) {
    this.map = map;
    entry = new EntryBuffer(map);
    value.wrap(entry.value(), 0);
  }

  public BpfMap map() {
    return map;
  }

  /**
   * Writes the endpoint's slot; MAC addresses are numbers, the first octet most significant; flags
   * are of {@link agent.maps.layout.EndpointFlag}.
   */
  public int set(int endpointId, int ifindex, int identity, long mac, long hostMac, int flags) {
    entry.key().putInt(0, endpointId);
    value.clear().ifindex(ifindex).identity(identity).mac(mac).hostMac(hostMac).flags(flags);
    return map.update(entry, MapFlag.ANY);
  }

  /** Zeroes the endpoint's slot, which means that no endpoint has this id. */
  public int clear(int endpointId) {
    entry.key().putInt(0, endpointId);
    value.clear();
    return map.update(entry, MapFlag.ANY);
  }

  /** Reads the slot into {@link #found()}; -ENOENT where the id is out of range. */
  public int lookup(int endpointId) {
    entry.key().putInt(0, endpointId);
    return map.lookup(entry);
  }

  /** What the last lookup found, until the next operation. */
  public EndpointEntryFlyweight found() {
    return value;
  }

  /** What failed, naming the endpoint of the last operation. */
  public BpfMapException failure(String operation, int result) {
    return map.failure(operation, entry, result);
  }
}
