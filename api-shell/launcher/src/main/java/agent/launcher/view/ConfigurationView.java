package agent.launcher.view;

import agent.contract.daemon.DaemonConfigurationModel;
import agent.contract.daemon.DaemonStatusModel;
import agent.contract.daemon.ProxyReplacementModel;
import agent.endpoint.config.RuntimeOptions;
import agent.endpoint.state.EndpointOptions;
import agent.endpoint.state.MutableOption;
import agent.launcher.options.Nat46Range;
import agent.launcher.options.OptionValues;
import agent.launcher.options.OptionsInForce;
import agent.node.FamilyAddressing;
import agent.node.NodeInventory;
import agent.node.NodeInventory.SegmentSizes;
import agent.node.NodeOptions;
import agent.node.netfilter.MasqueradeGuard;
import agent.policy.resolve.EnforcementMode;
import agent.server.handler.NodeEncoder;
import agent.types.Prefix;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/** The configuration of the daemon as it is in force, for {@code GET /config}. */
public final class ConfigurationView {
  private static final DaemonConfigurationModel.Protocols NO_FAMILY =
      new DaemonConfigurationModel.Protocols(false, false);

  private static final String UNDEFINED = "undefined";

  /** Start-up options that are the first value of what PATCH /config changes. */
  private static final Set<String> CHANGEABLE =
      Set.of("enable-policy", "disable-conntrack", "monitor-aggregation", "enable-tracing");

  private final OptionValues options;
  private final Map<String, ?> chosen;
  private final String nodeName;
  private final ProxyReplacementModel.Nat46X64 nat46;

  /**
   * Creates the view.
   *
   * @param options the daemon's options
   * @param chosen the values of options that name files, directories and groups, expanded, and of
   *     those whose default depends on others
   * @param nodeName the node's name
   */
  public ConfigurationView(OptionValues options, Map<String, ?> chosen, String nodeName) {
    this.options = options;
    this.chosen = chosen;
    this.nodeName = nodeName;
    nat46 = encode(Nat46Range.of(options));
  }

  String clusterName() {
    return options.text("cluster-name");
  }

  /** Returns the name of this node, with that of its cluster. */
  public String self() {
    return clusterName() + "/" + nodeName;
  }

  /** Encodes the names of the cluster and of this node in it. */
  Map<String, Object> cluster() {
    return Map.of("name", clusterName(), "self", self());
  }

  private static boolean masquerades(StartedParts parts) {
    return parts.masquerading().get() != MasqueradeGuard.Mode.DISABLED;
  }

  /** Rules masquerade where flows go through the stack. */
  private static boolean hasRules(StartedParts parts) {
    return masquerades(parts) && parts.masquerading().get() != MasqueradeGuard.Mode.BPF;
  }

  private DaemonConfigurationModel.Protocols masqueradedFamilies(StartedParts parts) {
    return masquerades(parts)
        ? new DaemonConfigurationModel.Protocols(
            parts.addressing().ipv4().enabled(), parts.addressing().ipv6().enabled())
        : NO_FAMILY;
  }

  /** Encodes what is masqueraded now. */
  DaemonStatusModel.Masquerading masquerading(StartedParts parts) {
    final MasqueradeGuard.Mode mode = parts.masquerading().get();
    final boolean isOn = mode != MasqueradeGuard.Mode.DISABLED;
    return new DaemonStatusModel.Masquerading(
        isOn,
        masqueradedFamilies(parts),
        false,
        mode.text(),
        null,
        isOn ? nativePrefix(parts.addressing().ipv4(), "ipv4-native-routing-cidr") : null,
        isOn ? nativePrefix(parts.addressing().ipv6(), "ipv6-native-routing-cidr") : null);
  }

  /** Returns which addresses stand for IPv4 addresses of what workloads send. */
  ProxyReplacementModel.Nat46X64 nat46() {
    return nat46;
  }

  private static ProxyReplacementModel.Nat46X64 encode(Prefix nat46Range) {
    final boolean isOn = nat46Range != null;
    return new ProxyReplacementModel.Nat46X64(
        isOn,
        new ProxyReplacementModel.Gateway(isOn, isOn ? List.of(nat46Range.toString()) : List.of()),
        new ProxyReplacementModel.Feature(false));
  }

  private String nativePrefix(FamilyAddressing family, String option) {
    if (!family.enabled()) {
      return null;
    }
    final String text = options.text(option);
    return text.equals(NodeOptions.AUTO)
        ? family.range().toString()
        : Prefix.parse(option, text).toString();
  }

  /**
   * Encodes the configuration.
   *
   * @param monitor the events of the datapath, as in the status
   */
  DaemonConfigurationModel model(StartedParts parts, Map<String, Object> monitor) {
    final RuntimeOptions wanted = parts.configuration().wanted();
    final RuntimeOptions realized = parts.configuration().realized();
    final NodeInventory node = parts.inventory().get();
    final SegmentSizes segments = node.segments();
    final Map<String, Object> effective = OptionsInForce.of(options, realized(parts, node));
    return new DaemonConfigurationModel(
        spec(wanted, wanted.enforcement()),
        new DaemonConfigurationModel.Status(
            segments == null ? null : segments.groIpv4(),
            segments == null ? null : segments.gro(),
            segments == null ? null : segments.gsoIpv4(),
            segments == null ? null : segments.gso(),
            NodeEncoder.encode(parts.addressing()),
            effective,
            options.text("datapath-mode"),
            node.deviceMtu(),
            false,
            OptionsInForce.text(effective, CHANGEABLE),
            "",
            "embedded",
            Map.of(),
            masquerades(parts),
            masqueradedFamilies(parts),
            monitor,
            null,
            null,
            spec(realized, parts.policy().mode()),
            node.routeMtu()));
  }

  private static DaemonConfigurationModel.Spec spec(RuntimeOptions options, EnforcementMode mode) {
    return new DaemonConfigurationModel.Spec(options.toMap(), mode.text());
  }

  /** Returns the values that differ from the given ones, or are chosen by the daemon. */
  private Map<String, Object> realized(StartedParts parts, NodeInventory node) {
    final Map<String, Object> realized = new LinkedHashMap<>(chosen);
    final FamilyAddressing ipv4 = parts.addressing().ipv4();
    final FamilyAddressing ipv6 = parts.addressing().ipv6();
    realized.put("ipv4-node", text(ipv4.node()));
    realized.put("ipv6-node", text(ipv6.node()));
    realized.put("ipv4-range", text(ipv4.range()));
    realized.put("ipv6-range", text(ipv6.range()));
    realized.put("masquerade", masquerades(parts));
    realized.put("install-iptables-rules", hasRules(parts));
    realized.put(
        "prepend-iptables-chains", hasRules(parts) && options.bool("prepend-iptables-chains"));
    realized.put(
        "ipv4-native-routing-cidr",
        text(nativePrefix(parts.addressing().ipv4(), "ipv4-native-routing-cidr")));
    realized.put(
        "ipv6-native-routing-cidr",
        text(nativePrefix(parts.addressing().ipv6(), "ipv6-native-routing-cidr")));
    realized.put("device", String.join(",", node.guardedDevices()));
    realized.put("mtu", (long) node.deviceMtu());
    realized.put("host-routing", parts.routing().get().mode().text().toLowerCase(Locale.ROOT));
    realized.put("datapath-mode", options.text("datapath-mode"));
    realized.put("preallocate-bpf-maps", true);
    if (options.text("allow-localhost").equals("auto")) {
      realized.put("allow-localhost", "policy"); // as long as no feature needs more
    }
    if (Set.of("", UNDEFINED).contains(options.text("prefilter-device"))) {
      realized.put("prefilter-device", UNDEFINED);
      realized.put("prefilter-mode", OptionsInForce.NOT_ENABLED);
    }
    realized.put("enable-policy", parts.policy().mode().text());
    realized.putAll(changeable(parts.configuration().realized()));
    return realized;
  }

  private static Map<String, Object> changeable(RuntimeOptions now) {
    final EndpointOptions endpoint = now.endpoint();
    return Map.of(
        "disable-conntrack", !endpoint.enabled(MutableOption.CONNTRACK),
        "monitor-aggregation", endpoint.aggregation().text(),
        "enable-tracing", now.tracesPolicy());
  }

  private static String text(Object value) {
    return value == null ? OptionsInForce.NOT_ENABLED : value.toString();
  }
}
