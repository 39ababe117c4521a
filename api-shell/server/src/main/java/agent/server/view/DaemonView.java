package agent.server.view;

import agent.contract.daemon.DaemonConfigurationModel;
import agent.contract.daemon.DaemonStatusModel;
import agent.contract.daemon.ModuleHealthModel;

/** The daemon as it sees itself. For any thread; never waits. */
public interface DaemonView {
  /**
   * Returns the status; it is asked for while the datapath starts, too.
   *
   * @param brief whether the states of the components are enough
   */
  DaemonStatusModel status(boolean brief);

  /**
   * Returns the health of the modules.
   *
   * @param brief whether modules that are well may be left out
   */
  ModuleHealthModel health(boolean brief);

  /** Returns the configuration. */
  DaemonConfigurationModel configuration();
}
