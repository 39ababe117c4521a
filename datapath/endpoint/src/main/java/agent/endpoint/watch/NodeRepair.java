package agent.endpoint.watch;

import agent.conductor.Faults;
import agent.conductor.Repairs;
import agent.endpoint.state.Endpoint;
import agent.endpoint.watch.NodeWatch.NodeSources;
import agent.ipcache.Ipcache;
import agent.node.Devices.Device;
import agent.node.Gateways;
import agent.node.LocalAddress;
import agent.types.AddressPair;
import agent.types.IpAddress;
import agent.types.OperationException;
import agent.types.Prefix;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Keeps the gateways and the parameters of the node, writes its addresses to the ipcache, and
 * reports devices of the node that are gone or down. Runs on the conductor's thread.
 */
final class NodeRepair {
  private static final Logger LOGGER = LogManager.getLogger(NodeRepair.class);
  private static final String GATEWAYS = "gateways";
  private static final String PARAMETERS = "parameters";
  private static final String INTERFACE_PARAMETERS = "parameters of interfaces";
  private static final String COMPARISON = "comparison";
  private static final String DEVICES = "devices";
  private static final String GUARDING = "guarding of devices";
  private static final String MASQUERADING = "masquerading";

  private final NodeSources node;
  private final Ipcache ipcache;
  private final Faults faults;
  private final Repairs repairs;
  private final Map<String, String> reported = new HashMap<>();
  private boolean hasParameterFault;
  private volatile Map<String, Integer> guarded = Map.of();
  private CompletableFuture<Void> guarding = CompletableFuture.completedFuture(null);
  private volatile Map<String, AddressPair> masquerades;

  NodeRepair(NodeSources node, Ipcache ipcache, Faults faults, Repairs repairs) {
    this.node = node;
    this.ipcache = ipcache;
    this.faults = faults;
    this.repairs = repairs;
  }

  /** Returns whether the node needs a device with this name. */
  boolean isWatched(String deviceName) {
    return deviceName.equals(Gateways.DEVICE)
        || node.watched().contains(deviceName)
        || node.guarded() != null && node.guarded().isNamed().test(deviceName);
  }

  /**
   * Repairs gateways and parameters, and updates the ipcache.
   *
   * @return whether gateways were added again, with whose addresses the kernel removed routes
   */
  boolean repair() {
    node.watched().forEach(this::check);
    guardDevices();
    final boolean hasGatewayDevice = check(Gateways.DEVICE);
    final Set<Prefix> prefixes = new TreeSet<>(node.addresses().reachable());
    final boolean isRestored = hasGatewayDevice && keepGateways(prefixes);
    reportFailure(ipcache.setNode(prefixes));
    try {
      restored(node.forwarding().keep());
      keepDevices();
      ended(PARAMETERS);
    } catch (OperationException failure) {
      degraded(PARAMETERS, failure.getMessage());
    }
    return isRestored;
  }

  /** Packets of the network to workloads come in by the guarded devices. */
  private void keepDevices() {
    final Map<String, Integer> devices = guarded;
    if (devices != null) {
      devices.keySet().stream()
          .filter(name -> node.devices().byName(name).isPresent())
          .forEach(name -> restored(node.forwarding().keepDevice(name)));
    }
  }

  /** Guards the devices that exist now; a network without any is a fault. */
  private void guardDevices() {
    if (node.guarded() == null) {
      return;
    }
    masquerade();
    final Map<String, Integer> present = node.guarded().present().get();
    final Set<String> facing = present.isEmpty() ? node.guarded().facing().get() : Set.of();
    if (facing.isEmpty()) {
      ended(DEVICES);
    } else {
      degraded(DEVICES, "no device program attached: --device selects none of " + facing);
    }
    if (present.equals(guarded) || !guarding.isDone()) {
      return;
    }
    guarded = present;
    guarding =
        node.guarded()
            .proxy()
            .guard(present)
            .handle(
                (done, failure) -> {
                  if (failure == null) {
                    faults.clear(GUARDING);
                  } else {
                    guarded = null; // not known: the next comparison tries again
                    LOGGER.warn("node: {}", failure.getMessage());
                    faults.failed(GUARDING, String.valueOf(failure.getMessage()));
                  }
                  return null;
                });
  }

  /** Passes the programs the addresses that the devices have now. */
  private void masquerade() {
    final Map<String, AddressPair> addresses = node.guarded().addresses().get();
    if (addresses.equals(masquerades)) {
      return;
    }
    masquerades = addresses;
    node.guarded()
        .proxy()
        .masquerade(addresses)
        .whenComplete(
            (done, failure) -> {
              if (failure == null) {
                faults.clear(MASQUERADING);
              } else {
                masquerades = null; // not known: the next comparison tries again
                LOGGER.warn("node: {}", failure.getMessage());
                faults.failed(MASQUERADING, String.valueOf(failure.getMessage()));
              }
            });
  }

  /** Maps a prefix that was added to the local routing table to the identity of the node. */
  void reachableBy(Prefix prefix) {
    reportFailure(ipcache.addNode(prefix));
  }

  private static void reportFailure(CompletableFuture<Void> written) {
    written.exceptionally(
        failure -> {
          LOGGER.warn("ipcache: {}", failure.getMessage());
          return null;
        });
  }

  /** Returns whether the device is there and up; otherwise it is a fault of the node. */
  private boolean check(String name) {
    final Optional<Device> device = node.devices().byName(name);
    if (device.isPresent() && device.get().up()) {
      ended(name);
      return true;
    }
    final String message = "interface '" + name + "' is " + (device.isPresent() ? "down" : "gone");
    log(name, message);
    faults.failed(name, message);
    return false;
  }

  private boolean keepGateways(Set<Prefix> prefixes) {
    try {
      final List<IpAddress> restored = node.gateways().keep(presentAddresses());
      if (!restored.isEmpty()) {
        LOGGER.warn("node: missing gateway addresses {} added again", restored);
        repairs.count(Repairs.Kind.ADDRESS, restored.size());
        restored.forEach(address -> prefixes.add(Prefix.of(address)));
      }
      ended(GATEWAYS);
      return !restored.isEmpty();
    } catch (OperationException failure) {
      degraded(GATEWAYS, "gateway addresses are missing: " + failure.getMessage());
      return false;
    }
  }

  private Set<IpAddress> presentAddresses() {
    return node.addresses().all().stream().map(LocalAddress::address).collect(Collectors.toSet());
  }

  /** Sets the parameters of the interfaces of these endpoints where they have other values. */
  void repairParametersOf(Collection<Endpoint> endpoints) {
    for (final Endpoint endpoint : endpoints) {
      if (endpoint.route() != null && endpoint.interfaceFault() == null) {
        try {
          if (endpoint.route().ipv4() != null) {
            restored(node.forwarding().keep(endpoint.route().interfaceName()));
          }
          restored(node.forwarding().keepMtu(endpoint.route().interfaceName()));
        } catch (OperationException failure) {
          hasParameterFault = true;
          degraded(INTERFACE_PARAMETERS, failure.getMessage());
        }
      }
    }
  }

  private void degraded(String subject, String message) {
    log(subject, message);
    faults.degraded(subject, message);
  }

  private void ended(String subject) {
    reported.remove(subject);
    faults.clear(subject);
  }

  /** Logs a fault once, and again where its message changes. */
  private void log(String subject, String message) {
    if (!message.equals(reported.put(subject, message))) {
      LOGGER.warn("node: {}", message);
    }
  }

  private void restored(List<String> parameters) {
    for (final String parameter : parameters) {
      LOGGER.warn("node: {}", parameter);
      repairs.count(Repairs.Kind.SYSCTL, 1);
    }
  }

  /** Records that the node could not be compared. */
  void comparisonFailed(String message) {
    degraded(COMPARISON, message);
  }

  /** Records that everything was compared. */
  void comparisonSucceeded() {
    ended(COMPARISON);
    if (!hasParameterFault) {
      ended(INTERFACE_PARAMETERS);
    }
    hasParameterFault = false;
  }
}
