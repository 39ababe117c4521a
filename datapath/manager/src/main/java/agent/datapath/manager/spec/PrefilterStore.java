package agent.datapath.manager.spec;

import java.io.IOException;
import java.util.Optional;

/** Stores the deny list across restarts. A change is stored before it is acknowledged. */
public interface PrefilterStore {
  /** Returns the list that was stored last, or empty. */
  Optional<PrefilterList> load() throws IOException;

  /** Stores the list; it survives SIGKILL as soon as this method returns. */
  void store(PrefilterList list) throws IOException;

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
