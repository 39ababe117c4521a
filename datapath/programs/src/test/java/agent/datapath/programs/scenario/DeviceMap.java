package agent.datapath.programs.scenario;

import agent.bindings.bpf.MapFlag;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.EntryBuffer;
import agent.maps.layout.DeviceEntryFlyweight;
import agent.maps.layout.MapSize;

/**
 * Writes the map {@code devices}, as other tools do and for nodes without an agent: the interface
 * indexes of the devices by which flows may bypass the stack, and the addresses that masqueraded
 * flows get there. Methods return 0 or a negative errno. Not thread-safe.
 */
public final class DeviceMap {
  private final BpfMap map;
  private final EntryBuffer entry;
  private final DeviceEntryFlyweight device;

  public DeviceMap(BpfMap map) {
    this.map = map;
    entry = new EntryBuffer(map);
    device = new DeviceEntryFlyweight().wrap(entry.value(), 0);
  }

  /**
   * Adds a device, or gives it other addresses.
   *
   * @param ipv4 the address of flows; 0: they keep their own
   * @param ipv6High with {@code ipv6Low} the same for IPv6
   */
  public int add(int ifindex, int ipv4, long ipv6High, long ipv6Low) {
    entry.key().putInt(0, ifindex);
    device.state(MapSize.DEVICE_GUARDED).ipv4(ipv4).ipv6(ipv6High, ipv6Low);
    return map.update(entry, MapFlag.ANY);
  }

  /** Deletes the entry of a device; -ENOENT where it has none. */
  public int remove(int ifindex) {
    entry.key().putInt(0, ifindex);
    return map.delete(entry);
  }
}
