package agent.launcher.state;

import agent.policy.PolicyState;
import agent.policy.PolicyStore;
import java.nio.file.Path;
import java.util.Optional;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * The rules, as they were written, in {@code policy/rules.json} and once more in {@code
 * policy/rules-copy.json}: rules that are lost leave workloads open, so that one damaged file must
 * not lose them.
 */
public final class PolicyFile implements PolicyStore {
  private static final Logger LOGGER = LogManager.getLogger(PolicyFile.class);
  private static final String NAME = "rules";
  private static final String COPY = "rules-copy";

  private final StateFolder folder;

  private PolicyFile(StateFolder folder) {
    this.folder = folder;
  }

  /**
   * Opens the store.
   *
   * @param stateDirectory the agent's state directory
   * @return the store
   */
  public static PolicyFile open(Path stateDirectory) {
    return new PolicyFile(StateFolder.open(stateDirectory.resolve("policy"), "policy"));
  }

  /** The copy serves where the first file is damaged or gone, and both are whole again then. */
  @Override
  public Optional<PolicyState> load() {
    final Optional<PolicyState> rules = folder.read(NAME, PolicyState.class);
    if (rules.isPresent()) {
      return rules;
    }
    final Optional<PolicyState> copy = folder.read(COPY, PolicyState.class);
    copy.ifPresent(
        state -> {
          LOGGER.warn("policy: the rules are those of the copy, revision {}", state.revision());
          save(state);
        });
    return copy;
  }

  @Override
  public void setAside(String reason) {
    folder.setAside(NAME, reason);
    if (folder.names().contains(COPY)) {
      folder.setAside(COPY, reason);
    }
  }

  @Override
  public void save(PolicyState state) {
    folder.write(NAME, state);
    folder.write(COPY, state);
  }
}
