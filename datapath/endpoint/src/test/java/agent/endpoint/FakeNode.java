package agent.endpoint;

import agent.node.Devices;
import agent.node.Devices.Device;
import agent.node.LocalAddress;
import agent.node.LocalAddresses;
import agent.node.WorkloadRoutes;
import agent.node.WorkloadRoutes.WorkloadRoute;
import agent.types.IpAddress;
import agent.types.MacAddress;
import agent.types.OperationException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/** A node in memory: devices, addresses and routes. */
final class FakeNode {
  final Map<String, Device> present = new TreeMap<>();
  final List<LocalAddress> addresses = new ArrayList<>();
  final Set<WorkloadRoute> routed = new LinkedHashSet<>();
  final List<String> interfacesSetDown = new ArrayList<>();
  boolean routesFail;

  final Devices devices =
      new Devices() {
        @Override
        public Optional<Device> byName(String name) {
          return Optional.ofNullable(present.get(name));
        }

        @Override
        public Optional<Device> byIndex(int index) {
          return present.values().stream().filter(device -> device.index() == index).findFirst();
        }

        @Override
        public List<Device> all() {
          return List.copyOf(present.values());
        }
      };

  final LocalAddresses localAddresses =
      new LocalAddresses() {
        @Override
        public List<LocalAddress> all() {
          return List.copyOf(addresses);
        }

        @Override
        public Optional<String> defaultDevice(boolean ipv4) {
          return Optional.empty();
        }
      };

  final WorkloadRoutes routes =
      new WorkloadRoutes() {
        @Override
        public void add(WorkloadRoute route) {
          if (routesFail) {
            throw new OperationException("ip route add: Network is down");
          }
          routed.add(route);
        }

        @Override
        public List<String> remove(WorkloadRoute route) {
          routed.remove(route);
          return routesFail ? List.of("ip route del: Operation not permitted") : List.of();
        }

        @Override
        public List<String> setDown(String interfaceName) {
          interfacesSetDown.add(interfaceName);
          return List.of();
        }

        @Override
        public List<String> synchronize(Collection<WorkloadRoute> wanted) {
          routed.clear();
          routed.addAll(wanted);
          return List.of();
        }
      };

  void hasDevice(String name, int index) {
    hasDevice(name, index, "veth");
  }

  void hasDevice(String name, int index, String kind) {
    final MacAddress mac = MacAddress.of(0x020000000000L + index);
    present.put(name, new Device(name, index, mac, 1500, true, kind));
  }

  void hasAddress(String address) {
    final IpAddress ip = IpAddress.parse(address);
    addresses.add(new LocalAddress(ip, ip.bitLength(), "eth0"));
  }
}
