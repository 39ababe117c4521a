package agent.endpoint;

import agent.node.Devices;
import agent.node.Devices.Device;
import agent.node.Forwarding;
import agent.node.Gateways;
import agent.node.LocalAddress;
import agent.node.LocalAddresses;
import agent.node.NodeEvents;
import agent.node.WorkloadRoutes;
import agent.node.WorkloadRoutes.WorkloadRoute;
import agent.types.IpAddress;
import agent.types.MacAddress;
import agent.types.OperationException;
import agent.types.Prefix;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;

/** A node in memory: devices, addresses and routes. */
final class FakeNode {
  final Map<String, Device> present = new TreeMap<>();
  final Map<Integer, Device> peers = new TreeMap<>();

  /** Devices that the list of all leaves out, because they came while it was read. */
  final Set<Device> unlisted = new HashSet<>();

  final List<LocalAddress> addresses = new ArrayList<>();
  final Set<WorkloadRoute> routed = new LinkedHashSet<>();

  /** How often routes were compared. */
  int routeComparisons;

  /** Destinations of the local routing table beside the addresses. */
  final List<Prefix> localRoutes = new ArrayList<>();

  /** How often a device was looked for by its index. */
  int readsByIndex;

  final List<String> interfacesSetDown = new ArrayList<>();
  final Set<String> down = new LinkedHashSet<>();
  boolean routesFail;

  /** Whether {@code add} fails after a part of it is done. */
  boolean routesFailLate;

  /** Whether {@code repair} and {@code synchronize} cannot read the routes. */
  boolean routesAreUnreadable;

  /** Events that the conductor has not read yet. */
  final Deque<Consumer<NodeEvents.Handler>> events = new ArrayDeque<>();

  boolean isSubscribed;

  /** Gateways that another program has removed. */
  final List<IpAddress> missingGateways = new ArrayList<>();

  /** The number of times that the gateways were compared. */
  int gatewayComparisons;

  /** The addresses with which they were compared last. */
  Set<IpAddress> comparedAddresses = Set.of();

  /**
   * Parameters that another program has changed, by the interface of a workload, or by {@code
   * device} and the name of a device of the network; the key of those of the node is empty.
   */
  final Map<String, List<String>> changedParameters = new TreeMap<>();

  /** The MTU of interfaces to which another program has given another one. */
  final Map<String, String> changedMtus = new TreeMap<>();

  /** What cannot be read or written; null where all can. */
  String gatewayFailure;

  /** What happens while the gateways are compared. */
  Runnable onGateways = () -> {};

  String parameterFailure;

  final Devices devices =
      new Devices() {
        @Override
        public Optional<Device> byName(String name) {
          return Optional.ofNullable(present.get(name));
        }

        @Override
        public Optional<Device> byIndex(int index) {
          readsByIndex++;
          return present.values().stream().filter(device -> device.index() == index).findFirst();
        }

        @Override
        public List<Device> all() {
          return present.values().stream().filter(device -> !unlisted.contains(device)).toList();
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
        public List<Prefix> routedHere() {
          return List.copyOf(localRoutes);
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
          routeComparisons++;
          if (routesAreUnreadable) {
            throw new OperationException("IPv4 routes: list: ENOBUFS");
          }
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
          if (routesAreUnreadable) {
            throw new OperationException("IPv4 routes: list: ENOBUFS");
          }
          routed.retainAll(wanted);
          return List.of();
        }
      };

  final Gateways gateways =
      present -> {
        gatewayComparisons++;
        onGateways.run();
        comparedAddresses = present;
        if (gatewayFailure != null) {
          throw new OperationException(gatewayFailure);
        }
        final List<IpAddress> added = List.copyOf(missingGateways);
        missingGateways.clear();
        added.forEach(gateway -> hasAddress(gateway.toString()));
        return added;
      };

  final Forwarding forwarding =
      new Forwarding() {
        @Override
        public List<String> keep() {
          return keep("");
        }

        @Override
        public List<String> keep(String interfaceName) {
          return kept(interfaceName);
        }

        @Override
        public List<String> keepDevice(String deviceName) {
          return kept("device " + deviceName);
        }

        private List<String> kept(String key) {
          if (parameterFailure != null) {
            throw new OperationException(parameterFailure);
          }
          final List<String> changed = changedParameters.remove(key);
          return changed == null ? List.of() : changed;
        }

        @Override
        public List<String> keepMtu(String interfaceName) {
          final String changed = changedMtus.remove(interfaceName);
          return changed == null ? List.of() : List.of(changed);
        }
      };

  /** What has input where there are events; -1 where nothing says so. */
  int eventDescriptor = -1;

  /** Returns a subscription to {@link #events}. */
  NodeEvents subscribe() {
    isSubscribed = true;
    return new NodeEvents() {
      @Override
      public int descriptor() {
        return eventDescriptor;
      }

      @Override
      public int poll(Handler handler, int limit) {
        int count = 0;
        while (count < limit && !events.isEmpty()) {
          events.poll().accept(handler);
          count++;
        }
        return count;
      }

      @Override
      public void close() {
        isSubscribed = false;
      }
    };
  }

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

  void rename(String name, String to) {
    final Device device = present.remove(name);
    present.put(
        to,
        new Device(
            to,
            device.index(),
            device.mac(),
            device.mtu(),
            device.up(),
            device.kind(),
            device.hasCarrier(),
            device.peerNamespaceId()));
  }

  void hasDeviceWithMac(String name, int index, String mac) {
    present.put(name, new Device(name, index, MacAddress.parse(mac), 1500, true, "veth", true, -1));
  }

  void hasAddress(String address) {
    final IpAddress ip = IpAddress.parse(address);
    addresses.add(new LocalAddress(ip, ip.bitLength(), "eth0"));
  }
}
