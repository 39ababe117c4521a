package agent.datapath.programs.attach;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import agent.conductor.ModuleHealth.Level;
import agent.conductor.Repairs;
import agent.datapath.guard.Check;
import agent.datapath.guard.KernelFaults;
import agent.datapath.programs.scenario.DeviceMap;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.BpfMapException;
import agent.maps.kernel.EntryBuffer;
import agent.maps.kernel.MapCatalog;
import agent.maps.kernel.MapDefinitions;
import agent.maps.layout.DeviceEntryFlyweight;
import agent.maps.layout.MapSize;
import agent.reconcile.ImmediateChanges;
import agent.reconcile.Reconciler;
import agent.reconcile.RefusedEntries;
import agent.testkit.KernelTest;
import agent.types.AddressPair;
import agent.types.IpAddress;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

@KernelTest
class DeviceEntriesKernelTest {
  private final BpfMap map =
      BpfMap.create(MapDefinitions.of("endpoint").get(MapCatalog.DEVICES).withMaxEntries(2), "");
  private final DeviceMap devices = new DeviceMap(map);
  private final KernelFaults faults = new KernelFaults();
  private final Repairs repairs = new Repairs();
  private long nowNs;
  private final Reconciler reconciler = new Reconciler(() -> nowNs, new RefusedEntries());

  @AfterEach
  void close() {
    map.close();
  }

  private DeviceEntries start() {
    return new DeviceEntries(new ImmediateChanges(reconciler), map, faults, repairs);
  }

  private Set<Integer> interfaces() {
    final Set<Integer> found = new TreeSet<>();
    map.forEachEntry(cursor -> found.add(cursor.key().getInt(0)));
    return found;
  }

  @Test
  void shouldWriteTheAddressesOfADevice() {
    final DeviceEntries entries = start();
    entries.add(7, AddressPair.NONE);
    entries.add(7, new AddressPair(IpAddress.parse("192.0.2.1"), IpAddress.parse("2001:db8::1")));
    final EntryBuffer found = new EntryBuffer(map);
    found.key().putInt(0, 7);
    assertEquals(0, map.lookup(found));
    final DeviceEntryFlyweight device = new DeviceEntryFlyweight().wrap(found.value(), 0);
    assertEquals(MapSize.DEVICE_GUARDED, device.state());
    assertEquals(0xc0000201, device.ipv4());
    assertEquals(0x2001_0db8_0000_0000L, device.ipv6High());
    assertEquals(1, device.ipv6Low());
    entries.remove(7);
    assertEquals(Set.of(), interfaces());
  }

  @Test
  void shouldRemoveTheDevicesOfAPreviousRunThatAreNotAdded() {
    assertEquals(0, devices.add(7, 0, 0, 0));
    assertEquals(0, devices.add(8, 0, 0, 0));
    final DeviceEntries entries = start();
    entries.add(8, AddressPair.NONE);
    assertEquals(Set.of(7, 8), interfaces());
    entries.removeOthers();
    assertEquals(Set.of(8), interfaces());
  }

  /** Flows by the device stay in the stack until then. */
  @Test
  void shouldAddADeviceThatWasRefusedOnceTheMapHasRoom() {
    final DeviceEntries entries = start();
    entries.add(7, AddressPair.NONE);
    entries.add(8, AddressPair.NONE);
    assertThrows(BpfMapException.class, () -> entries.add(9, AddressPair.NONE));
    assertEquals(Level.DEGRADED, faults.read().level());
    entries.remove(7);
    nowNs += TimeUnit.SECONDS.toNanos(1);
    reconciler.step();
    assertEquals(Set.of(8, 9), interfaces());
    final Check guard = entries.guard();
    while (guard.step(nowNs) != Check.Progress.DONE) {}
    assertEquals(Level.OK, faults.read().level(), () -> faults.read().message());
    repairs.forEach((kind, count) -> assertEquals(0, count, kind.name()));
  }
}
