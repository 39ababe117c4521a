package agent.maps.kernel;

import agent.bindings.bpf.MapFlag;

/**
 * Typed access to the map {@code policies}, which maps endpoint ids to policy maps. Methods return
 * 0 or a negative errno. Not thread-safe.
 */
public final class PolicyMapArray {
  private final BpfMap map;
  private final EntryBuffer entry;

  public PolicyMapArray(BpfMap map) {
    this.map = map;
    entry = new EntryBuffer(map);
  }

  /** Writes the policy map into its slot; the slot holds a reference to the map. */
  public int set(int endpointId, int policyMapFd) {
    entry.key().putInt(0, endpointId);
    entry.value().putInt(0, policyMapFd);
    return map.update(entry, MapFlag.ANY);
  }

  /**
   * Clears the slot, after which programs drop the endpoint's packets; returns -ENOENT if it is
   * empty.
   */
  public int clear(int endpointId) {
    entry.key().putInt(0, endpointId);
    return map.delete(entry);
  }

  /**
   * Returns the kernel's id of the map in the slot, or a negative errno; -ENOENT if the slot is
   * empty.
   */
  public int mapId(int endpointId) {
    entry.key().putInt(0, endpointId);
    final int result = map.lookup(entry);
    return result < 0 ? result : entry.value().getInt(0);
  }

  /** Creates the exception of a failure, which names the endpoint of the last operation. */
  public BpfMapException failure(String operation, int result) {
    return map.failure(operation, entry, result);
  }
}
