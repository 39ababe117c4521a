package agent.launcher.view;

import agent.contract.daemon.DaemonConfigurationModel;
import agent.contract.daemon.DaemonStatusModel;
import agent.contract.daemon.DaemonStatusModel.ComponentStatus;
import agent.contract.daemon.ModuleHealthModel;
import agent.datapath.manager.spec.ModuleHealth;
import agent.datapath.manager.spec.TcMode;
import agent.identity.Identity;
import agent.node.HostRouting;
import agent.server.view.DaemonView;
import java.util.List;
import java.util.Map;

/** Status, health and configuration; until {@link #ready} the status is "starting". */
public final class DaemonStatus implements DaemonView {
  private static final ComponentStatus DISABLED = new ComponentStatus(null, "Disabled");
  private static final ComponentStatus STARTING =
      new ComponentStatus("the agent is starting", "Warning");

  private final ConfigurationView configuration;
  private volatile StartedParts parts = StartedParts.NONE;

  /**
   * Creates the status of a daemon that is starting.
   *
   * @param configuration the configuration that the daemon was started with
   */
  public DaemonStatus(ConfigurationView configuration) {
    this.configuration = configuration;
  }

  /**
   * Ends the starting state: every later call reads these parts.
   *
   * @param started all parts of the daemon
   */
  public void ready(StartedParts started) {
    parts = started;
  }

  @Override
  public DaemonStatusModel status(boolean brief) {
    final StartedParts now = parts;
    if (now == StartedParts.NONE) {
      return model(STARTING, null, null, brief);
    }
    return model(
        ModuleHealthEncoder.overall(modules(now)),
        now,
        attachMode(now.datapath().status().tcMode()),
        brief);
  }

  private DaemonStatusModel model(
      ComponentStatus agent, StartedParts now, String attachMode, boolean brief) {
    final boolean whole = now != null && !brief;
    return new DaemonStatusModel(
        agent,
        attachMode,
        DISABLED,
        brief ? null : new DaemonStatusModel.BandwidthManager(null, List.of(), false),
        whole ? maps(now) : null,
        null,
        whole ? new DaemonStatusModel.ClockSource(null, "ktime-coarse") : null,
        whole ? Map.of("name", configuration.clusterName(), "self", configuration.self()) : null,
        null,
        null,
        DISABLED,
        DISABLED,
        null,
        brief ? null : Map.of("mode", "Disabled"),
        new DaemonStatusModel.FlowObserver(null, null, null, "Disabled"),
        brief ? null : new DaemonStatusModel.HostFirewall(List.of(), "Disabled"),
        whole ? hostRouting(now) : null,
        whole
            ? Map.of(
                "min-identity", Identity.CLUSTER_MIN,
                "max-identity", Identity.CLUSTER_MAX)
            : null,
        whole ? ipam(now) : null,
        null,
        null,
        DISABLED,
        brief ? null : configuration.masquerading(),
        whole ? monitor(now) : null,
        new DaemonStatusModel.Orchestrator(null, null, "Disabled"),
        null,
        null,
        whole ? routing(now) : null,
        brief ? null : new DaemonStatusModel.Srv6(false, null),
        whole ? Map.of() : null);
  }

  private static DaemonStatusModel.Mode hostRouting(StartedParts now) {
    final HostRouting routing = now.routing().current();
    return new DaemonStatusModel.Mode(routing.mode().text(), routing.reason());
  }

  private static DaemonStatusModel.Routing routing(StartedParts now) {
    return new DaemonStatusModel.Routing(
        "Linux", now.routing().current().mode().text(), "disabled");
  }

  /** Returns the value of {@code attach-mode} in the contract. */
  private static String attachMode(TcMode mode) {
    return mode == TcMode.TCX ? "tcx" : "tc";
  }

  private static DaemonStatusModel.BpfMaps maps(StartedParts now) {
    return new DaemonStatusModel.BpfMaps(
        null,
        now.datapath().maps().snapshot().stream()
            .map(map -> new DaemonStatusModel.MapSize(map.name(), (long) map.maxEntries()))
            .toList());
  }

  private static Map<String, Object> ipam(StartedParts now) {
    return Map.of(
        "mode",
        "embedded",
        "allocations",
        now.ipam().leases().size(),
        "pools",
        now.ipam().pools().stream()
            .map(
                pool ->
                    Map.of(
                        "name",
                        pool.name(),
                        "cidrs",
                        pool.cidrs().stream().map(Object::toString).toList()))
            .toList());
  }

  private static Map<String, Object> monitor(StartedParts now) {
    return Map.of(
        "seen", now.datapath().events().received(), "lost", now.datapath().events().lost());
  }

  @Override
  public ModuleHealthModel health(boolean brief) {
    final StartedParts now = parts;
    final List<ModuleHealth> modules = now == StartedParts.NONE ? List.of() : modules(now);
    return ModuleHealthEncoder.encode(modules, brief);
  }

  private static List<ModuleHealth> modules(StartedParts now) {
    return now.datapath().health().read();
  }

  @Override
  public DaemonConfigurationModel configuration() {
    final StartedParts now = parts;
    return configuration.model(now.addressing(), now.policyMode());
  }
}
