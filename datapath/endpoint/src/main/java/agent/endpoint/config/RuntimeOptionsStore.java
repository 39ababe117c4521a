package agent.endpoint.config;

import java.util.List;

/**
 * Keeps the changes of the daemon's configuration across restarts. A change is durable when its
 * call returns; the call throws where it cannot be stored.
 */
public interface RuntimeOptionsStore {
  /**
   * A value that was changed while the daemon ran.
   *
   * @param name its name
   * @param value the value since the change
   * @param startValue the value that the daemon was started with
   * @param isBeingSet whether it may not be on all endpoints yet; the next run then sets it on all
   */
  record ChangedValue(String name, String value, String startValue, boolean isBeingSet) {
    /** Creates one that all endpoints have. */
    public ChangedValue(String name, String value, String startValue) {
      this(name, value, startValue, false);
    }
  }

  /**
   * Returns the changes that were saved last; none where there are none.
   *
   * @throws agent.types.UnreadableStateException where they cannot be read
   */
  List<ChangedValue> load();

  /** Replaces the saved changes. */
  void save(List<ChangedValue> changes);

  /** Returns a store that keeps its content in memory. */
  static RuntimeOptionsStore inMemory() {
    return new RuntimeOptionsStore() {
      private List<ChangedValue> saved = List.of();

      @Override
      public synchronized List<ChangedValue> load() {
        return saved;
      }

      @Override
      public synchronized void save(List<ChangedValue> changes) {
        saved = List.copyOf(changes);
      }
    };
  }
}
