package agent.policy;

import java.util.Optional;

/** Keeps the rules over restarts. A call returns when they are safe, and throws where not. */
public interface PolicyStore {
  /** What was saved last, where anything was. */
  Optional<PolicyState> load();

  /**
   * Takes what is saved out of use without losing it: a part of it cannot be used.
   *
   * @param reason which part, and why
   */
  default void setAside(String reason) {}

  /** Replaces what is saved. */
  void save(PolicyState state);

  /** A store that forgets. */
  static PolicyStore inMemory() {
    return new PolicyStore() {
      @Override
      public Optional<PolicyState> load() {
        return Optional.empty();
      }

      @Override
      public void save(PolicyState state) {
        // nothing outlives the process
      }
    };
  }
}
