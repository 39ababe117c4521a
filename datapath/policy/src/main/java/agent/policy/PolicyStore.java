package agent.policy;

import java.util.Optional;

/**
 * Keeps the rules over restarts. A call returns when they are on the disk, and throws where it
 * failed.
 */
public interface PolicyStore {
  /** Returns the state that was saved last; empty where there is none. */
  Optional<PolicyState> load();

  /**
   * Moves the saved state aside, for a part of it is not valid; nothing of it is deleted.
   *
   * @param reason which part, and why
   */
  void setAside(String reason);

  /** Replaces the saved state. */
  void save(PolicyState state);

  /** Returns a store in memory, for tests: it keeps its content until the process ends. */
  static PolicyStore inMemory() {
    return new PolicyStore() {
      private PolicyState saved;

      @Override
      public synchronized Optional<PolicyState> load() {
        return Optional.ofNullable(saved);
      }

      @Override
      public synchronized void setAside(String reason) {
        saved = null;
      }

      @Override
      public synchronized void save(PolicyState state) {
        saved = state;
      }
    };
  }
}
