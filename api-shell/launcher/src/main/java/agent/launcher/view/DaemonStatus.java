package agent.launcher.view;

import agent.conductor.ModuleHealth;
import agent.contract.daemon.DaemonConfigurationModel;
import agent.contract.daemon.DaemonStatusModel;
import agent.contract.daemon.DaemonStatusModel.ComponentStatus;
import agent.contract.daemon.ModuleHealthModel;
import agent.server.view.DaemonView;
import java.util.List;

/** Status, health and configuration; until {@link #ready} the status is "starting". */
public final class DaemonStatus implements DaemonView {
  private static final ComponentStatus STARTING =
      new ComponentStatus("the agent is starting", "Warning");

  private final ConfigurationView configuration;
  private final StatusEncoder encoder;
  private volatile StartedParts parts = StartedParts.NONE;

  /**
   * Creates the status of a daemon that is starting.
   *
   * @param configuration the configuration that the daemon was started with
   * @param version version of the agent
   */
  public DaemonStatus(ConfigurationView configuration, String version) {
    this.configuration = configuration;
    encoder = new StatusEncoder(configuration, version);
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
      return encoder.brief(STARTING, null);
    }
    final ComponentStatus agent = ModuleHealthEncoder.overall(modules(now));
    return brief ? encoder.brief(agent, now) : encoder.whole(agent, now);
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
    return configuration.model(now, StatusEncoder.monitor(now));
  }
}
