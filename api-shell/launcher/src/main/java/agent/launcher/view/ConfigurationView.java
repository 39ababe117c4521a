package agent.launcher.view;

import agent.contract.daemon.DaemonConfigurationModel;
import agent.contract.daemon.DaemonStatusModel;
import agent.launcher.options.OptionValues;
import agent.node.NodeAddressing;
import agent.server.handler.NodeEncoder;
import java.util.LinkedHashMap;
import java.util.Map;

/** The configuration with which the daemon was started, for {@code GET /config}. */
public final class ConfigurationView {
  private static final DaemonConfigurationModel.Protocols NO_FAMILY =
      new DaemonConfigurationModel.Protocols(false, false);

  private final OptionValues options;
  private final Map<String, String> endpointOptions;
  private final String nodeName;

  /**
   * Creates the view.
   *
   * @param options the daemon's options
   * @param endpointOptions the options of a new endpoint
   * @param nodeName the node's name
   */
  public ConfigurationView(
      OptionValues options, Map<String, String> endpointOptions, String nodeName) {
    this.options = options;
    this.endpointOptions = endpointOptions;
    this.nodeName = nodeName;
  }

  String clusterName() {
    return options.text("cluster-name");
  }

  String self() {
    return clusterName() + "/" + nodeName;
  }

  DaemonStatusModel.Masquerading masquerading() {
    return new DaemonStatusModel.Masquerading(false, NO_FAMILY, null, null, null, null, null);
  }

  DaemonConfigurationModel model(NodeAddressing addressing, String policyMode) {
    final DaemonConfigurationModel.Spec spec =
        new DaemonConfigurationModel.Spec(endpointOptions, policyMode);
    return new DaemonConfigurationModel(
        spec,
        new DaemonConfigurationModel.Status(
            null,
            null,
            null,
            null,
            NodeEncoder.encode(addressing),
            options.shown(),
            options.text("datapath-mode"),
            null,
            null,
            immutable(),
            null,
            "embedded",
            Map.of(),
            false,
            NO_FAMILY,
            Map.of(),
            null,
            null,
            spec,
            null));
  }

  /** Returns the start-up options as text; none of them changes while the agent runs. */
  private Map<String, String> immutable() {
    final Map<String, String> immutable = new LinkedHashMap<>();
    options.shown().forEach((name, value) -> immutable.put(name, String.valueOf(value)));
    return immutable;
  }
}
