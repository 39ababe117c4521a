package agent.datapath.programs.scenario;

import agent.bindings.bpf.MapFlag;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.EntryBuffer;

/**
 * Writes the map {@code interfaces_overflow}, as other tools do and for nodes without an agent: the
 * endpoint of an interface whose cell another interface has. Methods return 0 or a negative errno.
 * Not thread-safe.
 */
public final class InterfaceOverflowMap {
  private final BpfMap map;
  private final EntryBuffer entry;

  public InterfaceOverflowMap(BpfMap map) {
    this.map = map;
    entry = new EntryBuffer(map);
  }

  /** Returns the endpoint of an interface; 0 where it has no entry. */
  public int get(int ifindex) {
    entry.key().putInt(0, ifindex);
    return map.lookup(entry) < 0 ? 0 : entry.value().getInt(0);
  }

  public int set(int ifindex, int endpointId) {
    entry.key().putInt(0, ifindex);
    entry.value().putInt(0, endpointId);
    return map.update(entry, MapFlag.ANY);
  }

  /** Deletes the entry of an interface; -ENOENT where it has none. */
  public int remove(int ifindex) {
    entry.key().putInt(0, ifindex);
    return map.delete(entry);
  }
}
