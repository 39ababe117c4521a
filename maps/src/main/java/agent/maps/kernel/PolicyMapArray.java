package agent.maps.kernel;

import agent.bindings.MapFlag;

/** Endpoint id to that endpoint's policy map. Results are 0 or a negative errno. */
public final class PolicyMapArray {
  private final BpfMap map;
  private final EntryBuffer entry;

  public PolicyMapArray(BpfMap map) {
    this.map = map;
    entry = new EntryBuffer(map);
  }

  public BpfMap map() {
    return map;
  }

  /** Puts the policy map in its slot; the kernel keeps the map alive from here on. */
  public int set(int endpointId, int policyMapFd) {
    entry.key().putInt(0, endpointId);
    entry.value().putInt(0, policyMapFd);
    return map.update(entry, MapFlag.ANY);
  }

  /** Empties the slot: packets of the endpoint are dropped from here on. -ENOENT where empty. */
  public int clear(int endpointId) {
    entry.key().putInt(0, endpointId);
    return map.delete(entry);
  }

  /** The kernel's id of the map in the slot, or a negative errno, -ENOENT where it is empty. */
  public int mapId(int endpointId) {
    entry.key().putInt(0, endpointId);
    final int result = map.lookup(entry);
    return result < 0 ? result : entry.value().getInt(0);
  }

  /** What failed, naming the endpoint of the last operation. */
  public BpfMapException failure(String operation, int result) {
    return map.failure(operation, entry, result);
  }
}
