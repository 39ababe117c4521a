package agent.datapath.programs.attach;

import agent.conductor.Repairs;
import agent.datapath.guard.Check;
import agent.datapath.guard.ComparedTables;
import agent.maps.kernel.BpfMap;
import agent.maps.layout.DeviceEntryFlyweight;
import agent.maps.layout.MapSize;
import agent.reconcile.BpfTargetMap;
import agent.reconcile.DesiredTable;
import agent.reconcile.ImmediateChanges;
import agent.reconcile.MapFaults;
import agent.reconcile.Realization;
import agent.types.AddressPair;
import java.util.List;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * The desired entries of the map {@code devices}, from which the programs know by which devices
 * flows may bypass the stack. For the conductor's thread.
 */
public final class DeviceEntries {
  private final ImmediateChanges changes;
  private final DesiredTable table;
  private final Check guard;
  private final UnsafeBuffer key = new UnsafeBuffer(new byte[Integer.BYTES]);
  private final UnsafeBuffer value = new UnsafeBuffer(new byte[DeviceEntryFlyweight.LENGTH]);
  private final DeviceEntryFlyweight device = new DeviceEntryFlyweight().wrap(value, 0);

  /** Creates the entries of the open map, where those of a previous run stay for the present. */
  public DeviceEntries(ImmediateChanges changes, BpfMap map, MapFaults faults, Repairs repairs) {
    this.changes = changes;
    table = changes.add(new BpfTargetMap(map), 0, Realization.PLAIN, faults);
    guard = new ComparedTables(map.name(), List.of(table), repairs);
  }

  /** Returns the comparison of the map with the kernel. */
  public Check guard() {
    return guard;
  }

  /**
   * Adds a device on which the host program is attached, or gives it other addresses.
   *
   * @param addresses the addresses that flows by the device get
   * @throws agent.maps.kernel.BpfMapException where the map is full; flows by the device stay in
   *     the stack until it has room
   */
  void add(int ifindex, AddressPair addresses) {
    key.putInt(0, ifindex);
    device
        .state(MapSize.DEVICE_GUARDED)
        .ipv4(addresses.ipv4Number())
        .ipv6(addresses.ipv6High(), addresses.ipv6Low());
    changes.put(table, key, value);
  }

  /** Removes a device from which the host program is about to be detached. */
  void remove(int ifindex) {
    key.putInt(0, ifindex);
    changes.remove(table, key);
  }

  /** Removes the devices of a previous run that were not added by this one. */
  public void removeOthers() {
    changes.removeOthers(table);
  }
}
