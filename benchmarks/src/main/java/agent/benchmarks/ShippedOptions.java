package agent.benchmarks;

import agent.benchmarks.BenchmarkNode.End;
import agent.datapath.manager.DatapathManager;
import agent.datapath.spec.EndpointSpec;
import agent.endpoint.state.EndpointOptions;
import agent.endpoint.state.MonitorAggregation;
import agent.endpoint.state.MutableOption;
import agent.launcher.DaemonDefaults;
import agent.maps.kernel.MapCatalog;
import agent.types.IpAddress;
import agent.types.MacAddress;

/** The options with which the measured programs run: those of the daemon as it ships. */
public final class ShippedOptions {
  private ShippedOptions() {}

  /** Returns an endpoint with the daemon's default options, on the loopback interface. */
  public static EndpointSpec endpoint(DaemonDefaults defaults) {
    return endpoint(defaults, End.FIRST, 1, "lo");
  }

  static EndpointSpec endpoint(
      DaemonDefaults defaults, End end, int ifindex, String interfaceName) {
    final EndpointOptions options = defaults.endpoint();
    return new EndpointSpec(
        end.id,
        ifindex,
        interfaceName,
        IpAddress.parse(end.ipv4),
        IpAddress.parse(end.ipv6),
        MacAddress.parse(end.mac()),
        MacAddress.parse(end.hostMac()),
        end.identity,
        options.bits(),
        options.aggregation().ordinal());
  }

  /** Returns the options of an attached endpoint, such as {@code Conntrack on, Debug off}. */
  public static String text(EndpointSpec attached) {
    final StringBuilder text = new StringBuilder();
    for (final MutableOption option : MutableOption.values()) {
      if (option.bit() != 0) {
        final boolean isOn = (attached.options() & option.bit()) != 0;
        text.append(option.optionName()).append(isOn ? " on, " : " off, ");
      }
    }
    return text.append(MutableOption.MONITOR_AGGREGATION_LEVEL.optionName())
        .append(' ')
        .append(MonitorAggregation.values()[attached.aggregation()])
        .toString();
  }

  /** Returns what the launched datapath says of itself, with the sizes of its tables. */
  static String text(DatapathManager manager) {
    return "tc %s, prefilter %s, conntrack %,d TCP and %,d other flows a family"
        .formatted(
            manager.status().tcMode(),
            manager.status().prefilterMode(),
            manager.maps().find(MapCatalog.CONNTRACK4_TCP.name()).orElseThrow().maxEntries(),
            manager.maps().find(MapCatalog.CONNTRACK4_ANY.name()).orElseThrow().maxEntries());
  }
}
