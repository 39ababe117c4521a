package agent.state;

import agent.conductor.Faults;
import agent.endpoint.config.RuntimeOptionsStore;
import agent.types.UnreadableStateException;
import java.util.List;

/** Stores the changes of the daemon's configuration in {@code configuration/daemon.json}. */
final class ConfigurationFile implements RuntimeOptionsStore {
  private static final String NAME = "daemon";

  private final StateFolder<List<ChangedValue>> folder;
  private final Faults faults;

  ConfigurationFile(StateFolder<List<ChangedValue>> folder, Faults faults) {
    this.folder = folder;
    this.faults = faults;
  }

  @Override
  public List<ChangedValue> load() {
    try {
      return folder.read(NAME).orElse(List.of());
    } catch (DamagedStateException e) {
      final String message =
          ("configuration: the changes in %s cannot be read (%s). The daemon has the strictest"
                  + " values: policy enforcement always, PolicyAuditMode Disabled,"
                  + " SourceIPVerification Enabled, and Conntrack Disabled but for endpoints that"
                  + " had it. Set what shall be otherwise (agentctl config set), which writes the"
                  + " file, or restore the file and start the agent again")
              .formatted(folder.path(NAME), e.getMessage());
      faults.failed(folder.path(NAME).toString(), message);
      throw new UnreadableStateException(message);
    }
  }

  @Override
  public void save(List<ChangedValue> changes) {
    folder.write(NAME, changes, () -> {}, () -> faults.clear(folder.path(NAME).toString()));
  }
}
