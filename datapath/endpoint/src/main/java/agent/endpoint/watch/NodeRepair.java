package agent.endpoint.watch;

import agent.datapath.manager.guard.Faults;
import agent.datapath.manager.guard.Repairs;
import agent.endpoint.state.Endpoint;
import agent.endpoint.watch.NodeWatch.NodeSources;
import agent.ipcache.Ipcache;
import agent.node.Devices.Device;
import agent.node.Gateways;
import agent.types.IpAddress;
import agent.types.OperationException;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
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

  private final NodeSources node;
  private final Ipcache ipcache;
  private final Faults faults;
  private final Repairs repairs;
  private final Map<String, String> reported = new HashMap<>();
  private boolean hasParameterFault;

  NodeRepair(NodeSources node, Ipcache ipcache, Faults faults, Repairs repairs) {
    this.node = node;
    this.ipcache = ipcache;
    this.faults = faults;
    this.repairs = repairs;
  }

  /** Returns whether the node needs a device with this name. */
  boolean isWatched(String deviceName) {
    return deviceName.equals(Gateways.DEVICE) || node.watched().contains(deviceName);
  }

  /**
   * Repairs gateways and parameters, and updates the ipcache.
   *
   * @return whether gateways were added again, with whose addresses the kernel removed routes
   */
  boolean repair() {
    node.watched().forEach(this::check);
    final boolean hasGatewayDevice = check(Gateways.DEVICE);
    final Set<IpAddress> addresses = new TreeSet<>(node.addresses().reachable());
    final boolean isRestored = hasGatewayDevice && keepGateways(addresses);
    ipcache
        .setNode(addresses)
        .exceptionally(
            failure -> {
              LOGGER.warn("ipcache: {}", failure.getMessage());
              return null;
            });
    try {
      restored(node.forwarding().keep());
      ended(PARAMETERS);
    } catch (OperationException failure) {
      degraded(PARAMETERS, failure.getMessage());
    }
    return isRestored;
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

  private boolean keepGateways(Set<IpAddress> addresses) {
    try {
      final List<IpAddress> restored = node.gateways().keep(addresses);
      if (!restored.isEmpty()) {
        LOGGER.warn("node: gateway addresses {} were missing and were added again", restored);
        repairs.count(Repairs.Kind.ADDRESS, restored.size());
        addresses.addAll(restored);
      }
      ended(GATEWAYS);
      return !restored.isEmpty();
    } catch (OperationException failure) {
      degraded(GATEWAYS, "gateway addresses are missing: " + failure.getMessage());
      return false;
    }
  }

  /** Sets the parameters of the interfaces of these endpoints where they have other values. */
  void repairParametersOf(Collection<Endpoint> endpoints) {
    for (final Endpoint endpoint : endpoints) {
      if (endpoint.route() != null
          && endpoint.route().ipv4() != null
          && endpoint.interfaceFault() == null) {
        try {
          restored(node.forwarding().keep(endpoint.route().interfaceName()));
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
