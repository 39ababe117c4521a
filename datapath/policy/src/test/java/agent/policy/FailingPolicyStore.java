package agent.policy;

import agent.policy.repository.PolicyState;
import agent.policy.repository.PolicyStore;
import agent.types.OperationException;
import java.util.Optional;
import java.util.function.Consumer;

/** A store in memory that cannot be written while a test says so. */
final class FailingPolicyStore implements PolicyStore {
  private final PolicyStore kept = PolicyStore.inMemory();
  boolean fails;

  @Override
  public Optional<PolicyState> load(Consumer<PolicyState> check) {
    return kept.load(check);
  }

  @Override
  public void save(PolicyState state) {
    if (fails) {
      throw new OperationException("disk full");
    }
    kept.save(state);
  }
}
