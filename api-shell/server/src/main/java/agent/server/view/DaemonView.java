package agent.server.view;

import agent.contract.daemon.DaemonConfigurationModel;
import agent.contract.daemon.DaemonStatusModel;
import agent.contract.daemon.ModuleHealthModel;

/** Status, health and configuration of the daemon. Safe for every thread; no call waits. */
public interface DaemonView {
  /**
   * Returns the status; this call is served while the datapath starts, too.
   *
   * @param brief true: only the states of the components
   */
  DaemonStatusModel status(boolean brief);

  /**
   * Returns the health of the modules.
   *
   * @param brief true: without the modules whose level is OK
   */
  ModuleHealthModel health(boolean brief);

  /** Returns the configuration. */
  DaemonConfigurationModel configuration();
}
