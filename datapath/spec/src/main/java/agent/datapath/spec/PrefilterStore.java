package agent.datapath.spec;

import agent.types.OperationException;
import agent.types.UnreadableStateException;
import java.util.Optional;

/** Stores the deny list across restarts. A change is stored before it is acknowledged. */
public interface PrefilterStore {
  /**
   * Returns the list that was stored last, or empty.
   *
   * @throws UnreadableStateException where there is one that cannot be read
   */
  Optional<PrefilterList> load();

  /**
   * Stores the list; it survives SIGKILL as soon as this method returns.
   *
   * @throws OperationException where it could not be stored; the previous list is unchanged
   */
  void store(PrefilterList list);

  /** Returns a store that loses its content when the process ends. */
  static PrefilterStore inMemory() {
    return new PrefilterStore() {
      private PrefilterList stored;

      @Override
      public synchronized Optional<PrefilterList> load() {
        return Optional.ofNullable(stored);
      }

      @Override
      public synchronized void store(PrefilterList list) {
        stored = list;
      }
    };
  }
}
