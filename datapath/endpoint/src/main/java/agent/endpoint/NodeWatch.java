package agent.endpoint;

import agent.node.Device;
import agent.types.IpAddress;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Reads the node's addresses and devices now and then: its addresses are the ipcache's host
 * entries, and an endpoint whose interface is gone is not connected any more.
 */
final class NodeWatch {
  private static final Logger LOGGER = LogManager.getLogger(NodeWatch.class);

  private final EndpointContext context;
  private final EndpointRegistry registry;
  private final IpcacheWriter ipcache;

  NodeWatch(EndpointContext context, EndpointRegistry registry, IpcacheWriter ipcache) {
    this.context = context;
    this.registry = registry;
    this.ipcache = ipcache;
  }

  /** Begins; every run plans the next one. */
  void start() {
    context.thread().schedule(context.refreshInterval(), this::run);
  }

  private void run() {
    try {
      refresh();
    } catch (RuntimeException failure) {
      LOGGER.warn("node: {}", failure.getMessage());
    }
    start();
  }

  private Set<IpAddress> hosts() {
    final Set<IpAddress> hosts = new TreeSet<>(context.localAddresses().reachable());
    final List<IpAddress> restored = context.gateways().keep(hosts);
    if (!restored.isEmpty()) {
      LOGGER.warn("node: somebody took gateways away, they are there again: {}", restored);
      hosts.addAll(restored);
    }
    return hosts;
  }

  void refresh() {
    ipcache.reconcile();
    ipcache.setHosts(hosts());
    context.ipam().expire();
    final Map<String, Integer> devices =
        context.devices().all().stream()
            .collect(Collectors.toMap(Device::name, Device::index, (a, b) -> a));
    for (final Endpoint endpoint : registry.all()) {
      final EndpointRecord record = endpoint.record();
      final boolean present =
          Integer.valueOf(record.interfaceIndex()).equals(devices.get(record.interfaceName()));
      if (present != endpoint.isDevicePresent()) {
        LOGGER.info(
            "endpoint {}: interface '{}' {}",
            endpoint.id(),
            record.interfaceName(),
            present ? "is back" : "is gone");
        endpoint.devicePresent(present);
        registry.publish(endpoint);
      }
    }
  }
}
