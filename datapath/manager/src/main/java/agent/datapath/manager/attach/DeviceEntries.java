package agent.datapath.manager.attach;

import agent.bindings.Errno;
import agent.conductor.Repairs;
import agent.datapath.manager.guard.Check;
import agent.datapath.manager.guard.EntryComparison;
import agent.datapath.manager.guard.GuardedMap;
import agent.datapath.manager.guard.KernelFaults;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.BpfMapException;
import agent.maps.kernel.DeviceMap;
import agent.maps.kernel.MapCursor;
import agent.types.AddressPair;
import java.util.ArrayList;
import java.util.List;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * Writes the map {@code devices}, from which the programs know by which devices flows may bypass
 * the stack, and compares it with what was written. For the conductor's thread.
 */
public final class DeviceEntries implements Check {
  private final BpfMap map;
  private final DeviceMap devices;
  private final EntryComparison comparison;
  private final GuardedMap guarded;
  private final UnsafeBuffer key = new UnsafeBuffer(new byte[Integer.BYTES]);

  /** Wraps the open map, whose entries are not desired until {@link #add}. */
  public DeviceEntries(BpfMap map, KernelFaults faults, Repairs repairs) {
    this.map = map;
    devices = new DeviceMap(map);
    comparison = new EntryComparison(faults, repairs);
    guarded = new GuardedMap(0, null, "map " + map.name(), map);
  }

  /**
   * Adds a device on which the host program is attached, or gives it other addresses.
   *
   * @param addresses the addresses that flows by the device get
   * @throws BpfMapException where the map is full; flows by the device stay in the stack
   */
  void add(int ifindex, AddressPair addresses) {
    final int result =
        devices.add(ifindex, addresses.ipv4Number(), addresses.ipv6High(), addresses.ipv6Low());
    if (result < 0) {
      throw devices.failure("update", result);
    }
    key.putInt(0, ifindex);
    guarded.desired().put(key, devices.written());
  }

  /** Removes a device from which the host program is about to be detached. */
  void remove(int ifindex) {
    key.putInt(0, ifindex);
    guarded.desired().remove(key);
    delete(ifindex);
  }

  /** Removes the devices of a previous run that were not added by this one. */
  public void removeOthers() {
    final List<Integer> others = new ArrayList<>();
    try (MapCursor cursor = new MapCursor()) {
      final int opened = cursor.open(map);
      if (opened < 0) {
        throw map.failure("walk", "all", opened);
      }
      while (cursor.next()) {
        if (!guarded.desired().hasKey(cursor.key())) {
          others.add(cursor.key().getInt(0));
        }
      }
      if (cursor.error() < 0) {
        throw map.failure("walk", "all", cursor.error());
      }
    }
    others.forEach(this::delete);
  }

  private void delete(int ifindex) {
    final int result = devices.remove(ifindex);
    if (result < 0 && result != -Errno.ENOENT) {
      throw devices.failure("delete", result);
    }
  }

  @Override
  public Progress step(long nowNs) {
    if (comparison.guarded() == null) {
      comparison.begin(guarded);
    }
    if (comparison.step() > 0) {
      return Progress.REPAIRED;
    }
    return comparison.guarded() == null ? Progress.DONE : Progress.COMPARED;
  }

  @Override
  public void close() {
    comparison.abandon();
  }

  @Override
  public String toString() {
    return map.name();
  }
}
