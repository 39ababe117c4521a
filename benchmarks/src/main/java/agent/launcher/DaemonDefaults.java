package agent.launcher;

import agent.datapath.spec.DatapathContext;
import agent.datapath.spec.FlowRing;
import agent.datapath.spec.PrefilterStore;
import agent.domain.node.NodeContexts;
import agent.endpoint.state.EndpointOptions;
import agent.launcher.options.OptionValues;
import agent.node.NodeAddressing;
import agent.types.AddressPair;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * The configuration of a daemon that is started without options, but for the places that a
 * benchmark has for itself: state directory, BPF root and prefilter device.
 */
public final class DaemonDefaults {
  private final OptionValues options;
  private final Settings settings;

  /** Reads the options as the daemon does, without its environment. */
  public DaemonDefaults(
      Path stateDirectory, Path bpfRoot, String prefilterDevice, String... further) {
    final List<String> arguments = new ArrayList<>(List.of(further));
    arguments.add("--state-dir=" + stateDirectory);
    arguments.add("--bpf-root=" + bpfRoot);
    arguments.add("--prefilter-device=" + prefilterDevice);
    options = OptionValues.read(arguments, Map.of());
    settings = new Settings(options);
  }

  /** Returns the values of the daemon's options. */
  OptionValues options() {
    return options;
  }

  /**
   * Returns the configuration of the datapath, concluded, on a node where nothing needs the stack.
   *
   * @param guarded indices of the devices that face the network, by name
   * @param addresses what these devices have
   */
  public DatapathContext datapath(
      NodeAddressing addressing, Map<String, Integer> guarded, Map<String, AddressPair> addresses) {
    return settings.datapath(
        new NodeContexts(addressing, guarded, addresses), true, PrefilterStore.inMemory());
  }

  /** Returns the ring of flows. */
  public FlowRing flows() {
    return settings.flows();
  }

  /** Returns the options of a new endpoint. */
  public EndpointOptions endpoint() {
    return settings.endpointOptions();
  }
}
