package agent.state;

import agent.policy.PolicyState;
import agent.policy.PolicyStore;
import java.util.Optional;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Stores the rules in {@code policy/rules.json} and a copy in {@code policy/rules-copy.json}:
 * without rules a workload accepts all traffic, so one damaged file must not lose them.
 */
final class PolicyFile implements PolicyStore {
  private static final Logger LOGGER = LogManager.getLogger(PolicyFile.class);
  private static final String NAME = "rules";
  private static final String COPY = "rules-copy";

  private final StateFolder<PolicyState> folder;

  PolicyFile(StateFolder<PolicyState> folder) {
    this.folder = folder;
  }

  /**
   * Returns the rules. Where the first file is damaged or missing, reads the copy and writes both
   * files again.
   */
  @Override
  public Optional<PolicyState> load() {
    final Optional<PolicyState> rules = folder.read(NAME);
    if (rules.isPresent()) {
      return rules;
    }
    final Optional<PolicyState> copy = folder.read(COPY);
    copy.ifPresent(
        state -> {
          LOGGER.warn("policy: the rules were read from the copy, revision {}", state.revision());
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
