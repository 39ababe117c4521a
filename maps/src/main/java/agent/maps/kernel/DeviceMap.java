package agent.maps.kernel;

import agent.bindings.MapFlag;
import agent.maps.layout.MapSize;

/**
 * Typed access to the map {@code devices}: the interface indexes of the devices by which flows may
 * bypass the stack. Methods return 0 or a negative errno. Not thread-safe.
 */
public final class DeviceMap {
  private final BpfMap map;
  private final EntryBuffer entry;

  public DeviceMap(BpfMap map) {
    this.map = map;
    entry = new EntryBuffer(map);
  }

  public int add(int ifindex) {
    entry.key().putInt(0, ifindex);
    entry.value().putInt(0, MapSize.DEVICE_GUARDED);
    return map.update(entry, MapFlag.ANY);
  }

  /** Deletes the entry of a device; -ENOENT where it has none. */
  public int remove(int ifindex) {
    entry.key().putInt(0, ifindex);
    return map.delete(entry);
  }

  /** Creates the exception of a failure, which names the interface of the last operation. */
  public BpfMapException failure(String operation, int result) {
    return map.failure(operation, entry, result);
  }
}
