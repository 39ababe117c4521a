package agent.endpoint;

import agent.datapath.manager.thread.ConductorAgent;
import agent.endpoint.state.Endpoint;
import agent.endpoint.state.EndpointDevice;
import agent.endpoint.state.EndpointRegistry;
import agent.ipam.Ipam;
import agent.ipcache.Ipcache;
import agent.node.Devices;
import agent.node.Devices.Device;
import agent.node.Gateways;
import agent.node.LocalAddresses;
import agent.types.IpAddress;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Reads the node's addresses and devices periodically: writes the addresses to the ipcache and
 * marks endpoints whose interface is missing as not connected. It also expires address leases. Runs
 * on the conductor's thread.
 */
final class NodeWatch {
  private static final Logger LOGGER = LogManager.getLogger(NodeWatch.class);

  /**
   * The parts of the node that are read periodically.
   *
   * @param addresses the addresses of the node
   * @param gateways the gateways of the workloads, which are addresses of the node
   * @param devices the devices of the node
   */
  record Sources(LocalAddresses addresses, Gateways gateways, Devices devices) {}

  private final ConductorAgent conductor;
  private final Duration interval;
  private final Sources node;
  private final EndpointRegistry registry;
  private final Ipam ipam;
  private final Ipcache ipcache;

  NodeWatch(
      ConductorAgent conductor,
      Duration interval,
      Sources node,
      EndpointRegistry registry,
      Ipam ipam,
      Ipcache ipcache) {
    this.conductor = conductor;
    this.interval = interval;
    this.node = node;
    this.registry = registry;
    this.ipam = ipam;
    this.ipcache = ipcache;
  }

  /** Schedules the first run; every run schedules the next one. */
  void start() {
    conductor.schedule(interval.toNanos(), this::run);
  }

  private void run() {
    try {
      refresh();
    } catch (RuntimeException failure) {
      LOGGER.warn("node: {}", failure.getMessage());
    }
    start();
  }

  private void refresh() {
    ipcache
        .setNode(addresses())
        .exceptionally(
            failure -> {
              LOGGER.warn("ipcache: {}", failure.getMessage());
              return null;
            });
    ipam.expire();
    final Map<String, Integer> present =
        node.devices().all().stream()
            .collect(Collectors.toMap(Device::name, Device::index, (one, other) -> one));
    registry.all().forEach(endpoint -> updateDevice(endpoint, present));
  }

  private Set<IpAddress> addresses() {
    final Set<IpAddress> addresses = new TreeSet<>(node.addresses().reachable());
    final List<IpAddress> restored = node.gateways().keep(addresses);
    if (!restored.isEmpty()) {
      LOGGER.warn("node: gateway addresses {} were missing and were added again", restored);
      addresses.addAll(restored);
    }
    return addresses;
  }

  private void updateDevice(Endpoint endpoint, Map<String, Integer> devices) {
    final EndpointDevice device = endpoint.record().device();
    final boolean isPresent = Integer.valueOf(device.index()).equals(devices.get(device.name()));
    if (isPresent != endpoint.isDevicePresent()) {
      LOGGER.info(
          "endpoint {}: interface '{}' {}",
          endpoint.id(),
          device.name(),
          isPresent ? "is present again" : "is missing");
      endpoint.devicePresent(isPresent);
      registry.publish(endpoint);
    }
  }
}
