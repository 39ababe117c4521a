package agent.node;

import agent.node.Devices.Device;
import agent.types.AddressPair;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The devices by which packets of the network come in, read from the kernel at each call. A device
 * faces the network where it has an address of more than its link, or the default route. Devices
 * without Ethernet headers, the loopback device, and the host sides of workloads are never guarded.
 */
public final class GuardedDevices {
  private static final String LOOPBACK = "lo";

  private final DeviceSelection selection;
  private final Devices devices;
  private final LocalAddresses addresses;
  private final Supplier<Set<Integer>> workloads;

  /**
   * Creates the reader.
   *
   * @param workloads reads the indexes of the devices to which the agent has added a route
   */
  public GuardedDevices(
      DeviceSelection selection,
      Devices devices,
      LocalAddresses addresses,
      Supplier<Set<Integer>> workloads) {
    this.selection = selection;
    this.devices = devices;
    this.addresses = addresses;
    this.workloads = workloads;
  }

  /** Returns the reader of the devices that are guarded in the namespace of the caller. */
  public static GuardedDevices ofKernel(DeviceSelection selection) {
    return new GuardedDevices(
        selection,
        new NetlinkDevices(),
        new NetlinkLocalAddresses(),
        NetlinkWorkloadRoutes::devices);
  }

  /** Returns whether a device with this name is selected by a name or pattern. */
  public boolean names(String device) {
    return selection.names(device);
  }

  /** Returns the index of each present device that is to be guarded, by name. */
  public Map<String, Integer> present() {
    final Set<String> facing = facing();
    final Set<Integer> hostInterfaces = workloads.get();
    final Map<String, Integer> found = new TreeMap<>();
    for (final Device device : devices.all()) {
      final String name = device.name();
      if (device.mac() != null
          && !name.equals(LOOPBACK)
          && !hostInterfaces.contains(device.index())
          && selection.selects(name, facing.contains(name))) {
        found.put(name, device.index());
      }
    }
    return found;
  }

  /**
   * Returns the addresses that hosts of the network know each device by: of either family the first
   * one that is valid beyond the link.
   */
  public Map<String, AddressPair> addresses() {
    final Map<String, AddressPair> found = new TreeMap<>();
    for (final LocalAddress local : addresses.all()) {
      if (!local.isLoopback() && !local.isLinkLocal()) {
        final AddressPair first = found.getOrDefault(local.device(), AddressPair.NONE);
        final boolean isIpv4 = local.address().isIpv4();
        found.put(
            local.device(),
            new AddressPair(
                isIpv4 && first.ipv4() == null ? local.address() : first.ipv4(),
                !isIpv4 && first.ipv6() == null ? local.address() : first.ipv6()));
      }
    }
    return found;
  }

  /** Returns the names of the devices that face the network, guarded or not. */
  public Set<String> facing() {
    final Stream<String> addressed =
        addresses.all().stream()
            .filter(address -> !address.isLoopback() && !address.isLinkLocal())
            .map(LocalAddress::device);
    final Stream<String> defaults =
        Stream.of(true, false).flatMap(ipv4 -> addresses.defaultDevice(ipv4).stream());
    return Stream.concat(addressed, defaults)
        .filter(name -> !name.equals(LOOPBACK))
        .collect(Collectors.toCollection(TreeSet::new));
  }
}
