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
  final Map<Integer, Device> peers = new TreeMap<>();
  final List<LocalAddress> addresses = new ArrayList<>();
  final Set<WorkloadRoute> routed = new LinkedHashSet<>();
  final List<String> interfacesSetDown = new ArrayList<>();
  final Set<String> down = new LinkedHashSet<>();
  boolean routesFail;

  /** Whether {@code add} fails after a part of it is done. */
  boolean routesFailLate;

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

        @Override
        public Optional<Device> peerOf(int index) {
          return Optional.ofNullable(peers.get(index));
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
          routed.removeIf(
              other ->
                  other.interfaceName().equals(route.interfaceName())
                      && other.addresses().equals(route.addresses()));
          routed.add(route);
          down.remove(route.interfaceName());
          if (routesFailLate) {
            throw new OperationException("ip neigh replace: Cannot allocate memory");
          }
        }

        @Override
        public List<String> remove(WorkloadRoute route) {
          routed.remove(route);
          down.add(route.interfaceName());
          return routesFail ? List.of("ip route del: Operation not permitted") : List.of();
        }

        @Override
        public List<String> withdraw(WorkloadRoute route) {
          routed.remove(route);
          return List.of();
        }

        @Override
        public List<RouteRepair> repair(Collection<WorkloadRoute> wanted) {
          final List<RouteRepair> repairs = new ArrayList<>();
          for (final WorkloadRoute route : wanted) {
            if (!routed.contains(route)) {
              repairs.add(new RouteRepair(route, 1, "missing", routesFail ? "refused" : ""));
              if (!routesFail) {
                routed.add(route);
              }
            }
          }
          return repairs;
        }

        @Override
        public List<String> setDown(String interfaceName) {
          if (routesFail) {
            return List.of("ip link set down: Operation not permitted");
          }
          interfacesSetDown.add(interfaceName);
          down.add(interfaceName);
          return List.of();
        }

        @Override
        public void setUp(String interfaceName) {
          if (routesFail) {
            throw new OperationException("ip link set up: Operation not permitted");
          }
          down.remove(interfaceName);
        }

        @Override
        public List<String> synchronize(Collection<WorkloadRoute> wanted) {
          routed.retainAll(wanted);
          return List.of();
        }
      };

  void hasDevice(String name, int index) {
    hasDevice(name, index, "veth");
  }

  void hasDevice(String name, int index, String kind) {
    hasDevice(name, index, kind, true);
  }

  void hasDevice(String name, int index, String kind, boolean isUp) {
    final MacAddress mac = MacAddress.of(0x020000000000L + index);
    present.put(name, new Device(name, index, mac, 1500, isUp, kind, isUp, -1));
  }

  void hasDeviceWithMac(String name, int index, String mac) {
    present.put(name, new Device(name, index, MacAddress.parse(mac), 1500, true, "veth", true, -1));
  }

  void hasAddress(String address) {
    final IpAddress ip = IpAddress.parse(address);
    addresses.add(new LocalAddress(ip, ip.bitLength(), "eth0"));
  }
}
