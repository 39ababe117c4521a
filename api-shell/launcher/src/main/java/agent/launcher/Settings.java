package agent.launcher;

import agent.bindings.process.ProcessAttributes;
import agent.contract.monitor.MonitorStream;
import agent.datapath.spec.DatapathContext;
import agent.datapath.spec.DatapathOptions;
import agent.datapath.spec.FlowRing;
import agent.datapath.spec.Masquerading;
import agent.datapath.spec.Prefilter.PrefilterMode;
import agent.datapath.spec.PrefilterStore;
import agent.domain.node.HostName;
import agent.domain.node.MasqueradeOptions;
import agent.domain.node.NodeContexts;
import agent.endpoint.config.RuntimeOptions;
import agent.endpoint.state.EndpointOptions;
import agent.endpoint.state.MutableOption;
import agent.identity.FixedIdentities;
import agent.identity.Label;
import agent.identity.LabelFilter;
import agent.launcher.log.AgentLog;
import agent.launcher.log.LogOptions;
import agent.launcher.options.LabelPrefixFile;
import agent.launcher.options.Nat46Range;
import agent.launcher.options.OptionException;
import agent.launcher.options.OptionPath;
import agent.launcher.options.OptionValues;
import agent.launcher.view.ConfigurationView;
import agent.maps.layout.EventType;
import agent.node.DeviceSelection;
import agent.node.HostRouting;
import agent.node.NodeOptions;
import agent.policy.PolicyContext;
import agent.policy.repository.PolicyLimits;
import agent.policy.resolve.AllowLocalhost;
import agent.policy.resolve.EnforcementMode;
import agent.server.ApiContext;
import agent.server.BodyLimits;
import agent.server.RateLimits;
import agent.server.metrics.MetricsServer;
import agent.server.monitor.AgentEvents;
import agent.types.Refusal;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.FileSystems;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/** Converts the options to the contexts of the parts; those of names in {@link NameOptions}. */
final class Settings {
  private static final String FLOW_EVENTS = "flowobs-monitor-events";
  private static final String REQUESTS = "l7";
  private static final int MOST_KEPT_REQUESTS = 4096;
  private static final String UNDEFINED = NodeOptions.UNDEFINED;
  private static final String SOCKET_NAME = "agent.sock";

  /** The group of a socket whose group is not set; the daemon runs as root. */
  private static final String PROCESS_GROUP = "root";

  private static final int LEAST_MTU_IPV4 = 68;
  private static final int LEAST_MTU_IPV6 = 1280;

  private final OptionValues options;

  Settings(OptionValues options) {
    this.options = options;
  }

  Path stateDirectory() {
    return directory("state-dir");
  }

  /** Refuses an empty path, which would be the working directory. */
  private Path directory(String option) {
    final String text = options.text(option);
    if (text.isBlank()) {
      throw new OptionException("--" + option + ": '" + text + "': not a directory name");
    }
    return OptionPath.of(option, text);
  }

  Path bpfRoot() {
    return directory("bpf-root");
  }

  /** Returns the control group of {@code --cgroup-root}; null where it is not set. */
  Path cgroupRoot() {
    return options.text("cgroup-root").isEmpty() ? null : directory("cgroup-root");
  }

  ServiceOptions services() {
    return new ServiceOptions(options);
  }

  Path libDirectory() {
    return directory("lib-dir");
  }

  Path socketPath() {
    if (options.isDefault("socket-path")) {
      return stateDirectory().resolve(SOCKET_NAME);
    }
    final String text = options.text("socket-path");
    final Path path = text.isBlank() ? null : OptionPath.of("socket-path", text);
    if (path == null || path.getFileName() == null) {
      throw new OptionException("--socket-path: '" + text + "': not a file name");
    }
    return path;
  }

  /** Returns the socket of live events, beside that of the API. */
  Path monitorPath() {
    return Path.of(MonitorStream.socketBeside(socketPath().toString()));
  }

  int monitorQueueEvents() {
    return (int) options.number("monitor-queue-size");
  }

  /** Returns how many first bytes of a packet an event may have. */
  int packetBytes() {
    return options.number(DatapathOptions.PAYLOAD);
  }

  /** Creates the ring of flows. */
  FlowRing flows() {
    final int events = options.number(FlowRing.CAPACITY);
    return new FlowRing(events, alwaysEmitted(), System::nanoTime);
  }

  /** Creates the events of the agent, of which as many requests are kept as flows. */
  AgentEvents events() {
    final int kept = Math.min(MOST_KEPT_REQUESTS, options.number(FlowRing.CAPACITY));
    return new AgentEvents(kept, options.texts(FLOW_EVENTS).contains(REQUESTS));
  }

  private Set<EventType> alwaysEmitted() {
    final Set<EventType> types = EnumSet.noneOf(EventType.class);
    for (final String text : options.texts(FLOW_EVENTS)) {
      switch (text) {
        case "drop" -> types.add(EventType.DROP);
        case "verdict" -> types.add(EventType.VERDICT);
        case "trace" -> types.add(EventType.TRACE);
        case REQUESTS -> {
          // events of the agent, not of the programs
        }
        default ->
            throw new OptionException(
                "--flowobs-monitor-events: '" + text + "' is not one of drop, verdict, trace, l7");
      }
    }
    return types;
  }

  /**
   * Returns the configuration for display.
   *
   * @throws OptionException for a value that is otherwise checked late in the start
   */
  ConfigurationView shown() {
    clusterName();
    alwaysEmitted();
    proxies().http();
    return new ConfigurationView(
        options,
        Map.of(
            "config", options.configFile(),
            "state-dir", stateDirectory().toString(),
            "tofqdns-min-ttl", names().leastTtlSec(),
            "bpf-root", bpfRoot().toString(),
            "socket-path", socketPath().toString(),
            "socket-group", socketGroup() == null ? PROCESS_GROUP : socketGroup()),
        HostName.read());
  }

  /** Whether endpoints of the previous run keep their own options. */
  boolean keepsEndpointOptions() {
    return options.bool("keep-config");
  }

  /** Returns the start-up values of what can change while the daemon runs. */
  RuntimeOptions runtimeOptions() {
    return new RuntimeOptions(
        endpointOptions(),
        options.bool("enable-tracing"),
        EnforcementMode.parse("enable-policy", options.text("enable-policy")));
  }

  boolean restores() {
    return options.bool("restore");
  }

  ApiContext api(AgentEvents events) {
    return OptionException.naming(
        "api-rate-limit",
        () ->
            new ApiContext()
                .socketPath(socketPath())
                .socketGroup(socketGroup())
                .events(events)
                .maxBodyBytes(options.number(ApiContext.MAX_BODY))
                .bodyLimits(bodyLimits())
                .maxConnections(DescriptorShares.of(ProcessAttributes.descriptorLimit()).api())
                .rateLimits(rateLimits())
                .profiling(options.bool("pprof"))
                .conclude());
  }

  BodyLimits bodyLimits() {
    return new BodyLimits(
        options.number(PolicyLimits.RULES),
        options.number(PolicyLimits.PEERS),
        options.number(PolicyLimits.CIDRS),
        options.number(PolicyLimits.LABELS),
        options.number(DatapathOptions.MAX_PREFIXES),
        options.number(BodyLimits.MAX_ENTRIES));
  }

  RateLimits rateLimits() {
    return OptionException.naming(
        "api-rate-limit",
        () -> RateLimits.parse(options.pairs("api-rate-limit"), System::nanoTime));
  }

  LogOptions log() {
    return OptionException.naming(
        "log-driver",
        () ->
            LogOptions.of(
                    options.bool("debug"),
                    options.texts("debug-verbose"),
                    options.texts("log-driver"),
                    options.pairs("log-opt"))
                .withProxyLog(proxies().log()));
  }

  /**
   * Starts the log, or continues it with these options.
   *
   * @throws OptionException where the log daemon cannot be reached or the file of the proxies
   *     cannot be opened; then nothing has changed
   */
  void startLog() {
    OptionException.naming(
        "log-driver",
        () -> {
          AgentLog.start(log());
          return null;
        });
  }

  boolean logsSystemLoad() {
    return options.bool("log-system-load");
  }

  /** Returns the TCP address of the metrics; empty for none. */
  Optional<InetSocketAddress> metricsAddress() {
    return OptionException.naming(
        "prometheus-serve-addr",
        () -> MetricsServer.address(options.text("prometheus-serve-addr")));
  }

  /** Labels that an operator gave this agent; they are shown and change nothing. */
  List<String> agentLabels() {
    final List<String> labels = options.texts("agent-labels");
    for (final String label : labels) {
      try {
        Label.parse(label);
      } catch (Refusal refusal) {
        throw new OptionException("--agent-labels: " + refusal.getMessage());
      }
    }
    return labels;
  }

  /** A group that the option names must exist; the default group is used where it exists. */
  String socketGroup() {
    final String group = options.text("socket-group");
    try {
      FileSystems.getDefault().getUserPrincipalLookupService().lookupPrincipalByGroupName(group);
      return group;
    } catch (IOException e) {
      if (!options.isDefault("socket-group")) {
        throw new OptionException("--socket-group: group '" + group + "' does not exist");
      }
      return null;
    }
  }

  NodeOptions node() {
    return new NodeOptions(
        options.bool("enable-ipv4"),
        options.bool("enable-ipv6"),
        options.text("ipv4-node"),
        options.text("ipv6-node"),
        options.text("ipv4-range"),
        options.text("ipv6-range"),
        options.text("ipv6-cluster-alloc-cidr"),
        options.text("device"));
  }

  /** Refuses what an IPv6 device may not have (RFC 8200) before a workload meets it. */
  int mtu() {
    final int mtu = (int) options.number("mtu");
    final int least = options.bool("enable-ipv6") ? LEAST_MTU_IPV6 : LEAST_MTU_IPV4;
    if (mtu != 0 && mtu < least) {
      throw new OptionException("--mtu: %d is less than %d".formatted(mtu, least));
    }
    return mtu;
  }

  /** Returns the context of policy as far as options say it; it is not concluded. */
  PolicyContext policy() {
    return new PolicyContext()
        .mode(runtimeOptions().enforcement())
        .allowLocalhost(AllowLocalhost.parse("allow-localhost", options.text("allow-localhost")))
        .mapCapacity(options.number(DatapathOptions.POLICY_MAP_MAX))
        .limits(policyLimits());
  }

  PolicyLimits policyLimits() {
    return new PolicyLimits(
        options.number(PolicyLimits.RULES),
        options.number(PolicyLimits.PEERS),
        options.number(PolicyLimits.CIDRS),
        options.number(PolicyLimits.LABELS),
        options.number(PolicyLimits.TEXT));
  }

  /** Returns the context of the datapath as far as options say it; it is not concluded. */
  DatapathContext datapath() {
    return new DatapathContext()
        .bpfRoot(bpfRoot())
        .libDirectory(libDirectory())
        .keepsSources(options.bool("keep-bpf-templates"))
        .preallocates(options.bool("preallocate-bpf-maps"))
        .prefilterDevice(device("prefilter-device"))
        .prefilterMode(
            PrefilterMode.valueOf(options.text("prefilter-mode").toUpperCase(Locale.ROOT)))
        .maxPrefixes(options.number(DatapathOptions.MAX_PREFIXES))
        .enableServices(services().isOn())
        .cgroupRoot(cgroupRoot())
        .serviceTableMax(services().tableMax())
        .conntrackTcpMax(options.number(DatapathOptions.CONNTRACK_TCP_MAX))
        .conntrackAnyMax(options.number(DatapathOptions.CONNTRACK_ANY_MAX))
        .policyMapMax(options.number(DatapathOptions.POLICY_MAP_MAX))
        .conntrackGcIntervalSec(options.number(DatapathOptions.CONNTRACK_GC_INTERVAL))
        .flowSharePercent(options.number(DatapathOptions.FLOW_SHARE))
        .eventsPerSecond(options.number(DatapathOptions.EVENT_RATE))
        .payloadBytes(packetBytes())
        .compileDebug(options.bool("bpf-compile-debug"));
  }

  /**
   * Returns the concluded context of the datapath of a node.
   *
   * @throws OptionException for a value that the datapath refuses
   */
  DatapathContext datapath(NodeContexts node, boolean bypassesStack, PrefilterStore store) {
    return OptionException.naming(
        "bpf-root",
        () ->
            node.datapath(datapath(), masquerade(), services().balancer(), bypassesStack, store)
                .conclude());
  }

  /**
   * Returns the options of masquerading.
   *
   * @throws OptionException where the range of NAT46 cannot be one
   */
  MasqueradeOptions masquerade() {
    return new MasqueradeOptions(
        options.bool("masquerade"),
        options.bool("install-iptables-rules"),
        options.bool("prepend-iptables-chains"),
        options.text("ipv4-native-routing-cidr"),
        options.text("ipv6-native-routing-cidr"),
        options.number(Masquerading.ENDPOINT_SHARE),
        Nat46Range.of(options));
  }

  HostRouting.Choice hostRouting() {
    return OptionException.naming(
        "host-routing",
        () -> HostRouting.Choice.parse("host-routing", options.text("host-routing")));
  }

  /** Returns the devices that must be there, by the option that names each. */
  Map<String, String> namedDevices() {
    final Map<String, String> named = new TreeMap<>();
    for (final String option : List.of("lb", "prefilter-device")) {
      Optional.ofNullable(device(option)).ifPresent(name -> named.put(option, name));
    }
    return named;
  }

  DeviceSelection deviceSelection() {
    return DeviceSelection.parse(options.text("device"));
  }

  /** Devices that face the network; none of them can be the interface of a workload. */
  Set<String> nodeDevices() {
    final Set<String> names = new HashSet<>(deviceSelection().required());
    Optional.ofNullable(device("prefilter-device")).ifPresent(names::add);
    Optional.ofNullable(device("lb")).ifPresent(names::add);
    return names;
  }

  private String device(String option) {
    final String name = options.text(option);
    return name.isEmpty() || name.equals(UNDEFINED) ? null : name;
  }

  LabelFilter labelFilter() {
    return OptionException.naming(
        "labels",
        () -> LabelFilter.of(labelPrefixes(), options.texts("labels"), fixedIdentities()));
  }

  private Optional<List<String>> labelPrefixes() {
    final String file = options.text("label-prefix-file");
    return OptionPath.ofOptional("label-prefix-file", file).map(LabelPrefixFile::read);
  }

  NameOptions names() {
    return new NameOptions(options);
  }

  ProxyOptions proxies() {
    return new ProxyOptions(options);
  }

  FixedIdentities fixedIdentities() {
    return OptionException.naming(
        "fixed-identity-mapping",
        () -> FixedIdentities.parse(options.pairs("fixed-identity-mapping")));
  }

  EndpointOptions endpointOptions() {
    return EndpointOptions.defaults()
        .with(MutableOption.CONNTRACK, onOff(!options.bool("disable-conntrack")))
        .with(MutableOption.DEBUG, onOff(options.bool("debug")))
        .with(MutableOption.MONITOR_AGGREGATION_LEVEL, options.text("monitor-aggregation"));
  }

  private static String onOff(boolean on) {
    return on ? MutableOption.ENABLED : MutableOption.DISABLED;
  }

  /** The name is a part of agent-global identifiers, in which colons separate the parts. */
  String clusterName() {
    final String name = options.text("cluster-name");
    if (name.isBlank() || name.indexOf(':') >= 0) {
      throw new OptionException("--cluster-name: '" + name + "': must be a name without ':'");
    }
    return name;
  }
}
