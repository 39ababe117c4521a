package agent.launcher.view;

import agent.bindings.KernelClock;
import agent.contract.WireFormat;
import agent.contract.daemon.ControllerModel;
import agent.contract.daemon.DaemonStatusModel;
import agent.contract.daemon.DaemonStatusModel.BigTcp;
import agent.contract.daemon.DaemonStatusModel.ComponentStatus;
import agent.contract.daemon.ProxyReplacementModel;
import agent.contract.daemon.ProxyReplacementModel.Feature;
import agent.datapath.spec.DatapathEvents;
import agent.datapath.spec.DatapathStatus;
import agent.datapath.spec.FlowRing;
import agent.datapath.spec.Prefilter.PrefilterMode;
import agent.datapath.spec.ServiceProxy;
import agent.datapath.spec.TcMode;
import agent.domain.PeriodicController;
import agent.identity.Identity;
import agent.maps.layout.EventType;
import agent.maps.layout.ServiceForwarding;
import agent.node.HostRouting;
import agent.node.NodeInventory;
import agent.node.NodeInventory.SegmentSizes;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collector;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Encodes the status of the daemon for {@code GET /healthz}. What this agent does not have yet is
 * {@code Disabled}.
 */
final class StatusEncoder {
  private static final String OFF = "Disabled";
  private static final ComponentStatus CERTIFICATES = off("no certificate provider is enabled");
  private static final ComponentStatus CNI_FILE = off("no CNI configuration file is written");
  private static final ComponentStatus RUNTIME =
      off("no container runtime is watched: endpoints are created through the API");
  private static final ComponentStatus KVSTORE =
      off("no key-value store is used: identities and addresses are local to this node");
  private static final String ORCH_MESSAGE = "no orchestrator is watched";
  private static final DaemonStatusModel.Metrics NO_FLOW_METRICS =
      new DaemonStatusModel.Metrics(OFF);
  private static final Collector<CharSequence, ?, String> AND = Collectors.joining(", and ");
  private static final String LISTENED = "all events while a subscriber listens";

  /** Sizes of maps come from options, none from the size of the memory. */
  private static final double NO_DYNAMIC_SIZES = 0.0;

  private final ConfigurationView configuration;
  private final String version;
  private final long hertz = KernelClock.tickHertz();
  private final String conntrackController = UUID.randomUUID().toString();

  StatusEncoder(ConfigurationView configuration, String version) {
    this.configuration = configuration;
    this.version = version;
  }

  private static ComponentStatus off(String message) {
    return new ComponentStatus(message, OFF);
  }

  /** Encodes the states of the components alone; null for the parts while the daemon starts. */
  DaemonStatusModel brief(ComponentStatus agent, StartedParts now) {
    return new DaemonStatusModel(
        agent,
        version,
        now == null ? null : attachMode(now),
        CERTIFICATES,
        null,
        null,
        null,
        null,
        null,
        null,
        null,
        CNI_FILE,
        RUNTIME,
        null,
        null,
        flowObserver(now, false),
        null,
        null,
        null,
        null,
        null,
        null,
        null,
        KVSTORE,
        null,
        null,
        orchestrator(),
        null,
        null,
        null,
        null,
        null);
  }

  DaemonStatusModel whole(ComponentStatus agent, StartedParts now) {
    final HostRouting routing = now.routing().get();
    final SegmentSizes segments = now.inventory().get().segments();
    return new DaemonStatusModel(
        agent,
        version,
        attachMode(now),
        CERTIFICATES,
        new DaemonStatusModel.BandwidthManager(null, List.of(), false),
        maps(now),
        now.nodes().unassignedId(),
        new DaemonStatusModel.ClockSource(hertz, "ktime-coarse"),
        configuration.cluster(),
        Map.of("clusters", List.of(), "mode", OFF),
        Map.of("mode", "none"),
        CNI_FILE,
        RUNTIME,
        controllers(now),
        Map.of("mode", OFF),
        flowObserver(now, true),
        new DaemonStatusModel.HostFirewall(List.of(), OFF),
        new DaemonStatusModel.Mode(routing.mode().text(), routing.reason()),
        Map.of("min-identity", Identity.CLUSTER_MIN, "max-identity", Identity.CLUSTER_MAX),
        LeaseEncoder.encode(now.ipam().leases(), now.addressing()),
        bigTcp(segments, true),
        bigTcp(segments, false),
        kernel(now),
        KVSTORE,
        configuration.masquerading(now),
        monitor(now),
        orchestrator(),
        proxyReplacement(now),
        now.proxies().get(),
        new DaemonStatusModel.Routing("Linux", routing.mode().text(), "disabled"),
        new DaemonStatusModel.Srv6(false, null),
        Map.of());
  }

  private static DaemonStatusModel.Kernel kernel(StartedParts now) {
    final DatapathStatus status = now.datapath().status();
    return new DaemonStatusModel.Kernel(status.kernelLacks(), status.kernelRelease());
  }

  /** Returns the value of {@code attach-mode} in the contract. */
  private static String attachMode(StartedParts now) {
    return now.datapath().status().tcMode() == TcMode.TCX ? "tcx" : "tc";
  }

  /** Encodes the ring of flows; null for the parts while the daemon starts. */
  private static DaemonStatusModel.FlowObserver flowObserver(StartedParts now, boolean isWhole) {
    if (now == null) {
      return new DaemonStatusModel.FlowObserver(
          NO_FLOW_METRICS, "the flow observer starts with the datapath", null, OFF);
    }
    return flowObserver(now.datapath().events().flows(), isWhole);
  }

  static DaemonStatusModel.FlowObserver flowObserver(FlowRing flows, boolean isWhole) {
    if (flows.capacity() == 0) {
      return new DaemonStatusModel.FlowObserver(
          NO_FLOW_METRICS, "the flow observer is off: its capacity is 0", null, OFF);
    }
    final String always =
        Stream.of(EventType.values())
            .filter(flows.always()::contains)
            .map(type -> type.name().toLowerCase(Locale.ROOT) + "s")
            .collect(Collectors.joining(", "));
    final String others = flows.always().equals(FlowRing.TYPES) ? "" : LISTENED;
    final long seen = flows.position();
    return new DaemonStatusModel.FlowObserver(
        NO_FLOW_METRICS,
        "keeps " + Stream.of(always, others).filter(text -> !text.isEmpty()).collect(AND),
        isWhole
            ? new DaemonStatusModel.Observer(
                Math.min(seen, flows.capacity()),
                (long) flows.capacity(),
                seen,
                uptime(TimeUnit.NANOSECONDS.toSeconds(flows.uptimeNs())))
            : null,
        "Ok");
  }

  /** Returns seconds as options take them, such as {@code 2h0m5s}. */
  private static String uptime(long seconds) {
    final long minutes = seconds / 60;
    return minutes == 0
        ? seconds + "s"
        : (minutes < 60 ? "" : minutes / 60 + "h") + minutes % 60 + "m" + seconds % 60 + "s";
  }

  private static DaemonStatusModel.Orchestrator orchestrator() {
    return new DaemonStatusModel.Orchestrator(List.of(), ORCH_MESSAGE, OFF);
  }

  static BigTcp bigTcp(SegmentSizes sizes, boolean ipv4) {
    if (sizes == null) {
      return new BigTcp(false, null, null);
    }
    return ipv4
        ? new BigTcp(sizes.isBigIpv4(), sizes.groIpv4(), sizes.gsoIpv4())
        : new BigTcp(sizes.isBigIpv6(), sizes.gro(), sizes.gso());
  }

  private static DaemonStatusModel.BpfMaps maps(StartedParts now) {
    return new DaemonStatusModel.BpfMaps(
        NO_DYNAMIC_SIZES,
        now.datapath().maps().snapshot().stream()
            .map(map -> new DaemonStatusModel.MapSize(map.name(), (long) map.maxEntries()))
            .toList());
  }

  private List<ControllerModel> controllers(StartedParts now) {
    final List<ControllerModel> controllers = new ArrayList<>();
    now.controllers().forEach(controller -> controllers.add(encode(controller)));
    final DatapathStatus.Conntrack sweeps = now.datapath().status().conntrack();
    controllers.add(conntrackSweeps(conntrackController, sweeps));
    return controllers;
  }

  static ControllerModel encode(PeriodicController controller) {
    final String interval = controller.interval().toMillis() / 1000.0 + "s";
    final PeriodicController.Status status = controller.status();
    return new ControllerModel(
        controller.name(),
        controller.uuid().toString(),
        new ControllerModel.Configuration(true, interval, interval),
        new ControllerModel.Status(
            status.consecutiveFailures(),
            status.failures(),
            status.successes(),
            status.lastFailureMessage(),
            timestamp(status.lastFailure()),
            timestamp(status.lastSuccess())));
  }

  private static String timestamp(Instant time) {
    return time == null ? null : WireFormat.timestamp(time);
  }

  static ControllerModel conntrackSweeps(String uuid, DatapathStatus.Conntrack sweeps) {
    return new ControllerModel(
        "conntrack-gc",
        uuid,
        new ControllerModel.Configuration(true, null, sweeps.intervalSec() + ".0s"),
        new ControllerModel.Status(null, null, sweeps.runs(), null, null, null));
  }

  /** Encodes the events of the datapath: what was read, lost, and not emitted. */
  static Map<String, Object> monitor(StartedParts now) {
    return monitor(now.datapath().events(), now.subscribers().getAsInt());
  }

  static Map<String, Object> monitor(DatapathEvents events, int subscribers) {
    return Map.of(
        "seen",
        events.received(),
        "lost",
        events.lost(),
        "suppressed",
        events.suppressed(),
        "subscribers",
        subscribers);
  }

  /**
   * Services are balanced at the socket and by packet, or not at all; clients outside reach them
   * where a device of the network has the host program.
   */
  private ProxyReplacementModel proxyReplacement(StartedParts now) {
    final ServiceProxy services = now.datapath().services();
    final List<ProxyReplacementModel.Device> devices = devices(now.inventory().get());
    final boolean isServed = services.hooks() != ServiceProxy.Hooks.OFF;
    final Feature inside = new Feature(isServed);
    final Feature outside = new Feature(isServed && !devices.isEmpty());
    return new ProxyReplacementModel(
        devices,
        devices.stream().map(ProxyReplacementModel.Device::name).toList(),
        null,
        new ProxyReplacementModel.Features(
            false,
            outside,
            inside,
            outside,
            new ProxyReplacementModel.HostReachableServices(
                isServed, isServed ? List.of("TCP", "UDP") : List.of()),
            configuration.nat46(),
            nodePort(now, isServed, outside.enabled()),
            inside,
            inside,
            inside),
        isServed ? "Partial" : OFF);
  }

  /** Encodes the devices by which clients outside reach services, with their addresses. */
  private static List<ProxyReplacementModel.Device> devices(NodeInventory inventory) {
    return inventory.guardedDevices().stream()
        .map(
            name ->
                new ProxyReplacementModel.Device(
                    inventory.addresses().stream()
                        .filter(address -> address.device().equals(name))
                        .map(address -> address.address().toString())
                        .toList(),
                    name))
        .toList();
  }

  /** Encodes how packets reach backends, also those on other hosts. */
  private static ProxyReplacementModel.NodePort nodePort(
      StartedParts now, boolean isServed, boolean isServedOutside) {
    final int mostCells = now.datapath().services().mostCells();
    final PrefilterMode balancer = now.datapath().status().balancerMode();
    final Set<ServiceForwarding> modes = now.services().forwardingModes();
    final boolean isByTable = mostCells > 0;
    final String mode =
        modes.size() > 1 ? "Hybrid" : modes.contains(ServiceForwarding.DSR) ? "DSR" : "SNAT";
    return new ProxyReplacementModel.NodePort(
        balancer == null ? null : balancer == PrefilterMode.NATIVE ? "Native" : "Generic",
        isServed ? isByTable ? "Maglev" : "Random" : null,
        isServed && modes.contains(ServiceForwarding.DSR) ? "IPIP" : null,
        isServedOutside,
        isByTable ? mostCells : null,
        isServed ? mode : null,
        null,
        null);
  }
}
