package agent.launcher.state;

import agent.policy.PolicyState;
import agent.policy.PolicyStore;
import java.nio.file.Path;
import java.util.Optional;

/** The rules, as they were written, in {@code policy/rules.json}. */
public final class PolicyFile implements PolicyStore {
  private static final String NAME = "rules";

  private final StateFolder folder;

  private PolicyFile(final StateFolder folder) {
    this.folder = folder;
  }

  /**
   * Opens the store.
   *
   * @param stateDirectory the agent's state directory
   * @return the store
   */
  public static PolicyFile open(final Path stateDirectory) {
    return new PolicyFile(StateFolder.open(stateDirectory.resolve("policy"), "policy"));
  }

  @Override
  public Optional<PolicyState> load() {
    return folder.read(NAME, PolicyState.class);
  }

  @Override
  public void setAside(final String reason) {
    folder.setAside(NAME, reason);
  }

  @Override
  public void save(final PolicyState state) {
    folder.write(NAME, state);
  }
}
