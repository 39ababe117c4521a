package agent.policy.repository;

import agent.types.Refusal;
import agent.types.UnreadableStateException;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Keeps the rules over restarts. A call returns when they are on the disk, and throws where it
 * failed.
 */
public interface PolicyStore {
  /**
   * Returns the state that was saved last; empty where there is none.
   *
   * @param check throws a {@link agent.types.Refusal} where a state is not valid: it cannot be used
   * @throws UnreadableStateException where there is a state that cannot be read or is not valid
   */
  Optional<PolicyState> load(Consumer<PolicyState> check);

  /**
   * Replaces the saved state, all of it or nothing. One that {@link #load} could not read is kept
   * for a person under another name.
   */
  void save(PolicyState state);

  /** Returns a store in memory, for tests: it keeps its content until the process ends. */
  static PolicyStore inMemory() {
    return new PolicyStore() {
      private PolicyState saved;

      @Override
      public synchronized Optional<PolicyState> load(Consumer<PolicyState> check) {
        if (saved != null) {
          try {
            check.accept(saved);
          } catch (Refusal refusal) {
            throw new UnreadableStateException("policy: " + refusal.getMessage());
          }
        }
        return Optional.ofNullable(saved);
      }

      @Override
      public synchronized void save(PolicyState state) {
        saved = state;
      }
    };
  }
}
