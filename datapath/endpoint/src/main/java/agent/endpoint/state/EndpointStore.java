package agent.endpoint.state;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Supplier;

/**
 * Keeps the records of endpoints across restarts. A change is durable when its call returns, or,
 * where the call is a part of a larger write, with that; the call throws where it cannot be stored.
 */
public interface EndpointStore {
  /** Returns the records that were saved and not removed, except for {@link #unreadable}. */
  List<EndpointRecord> load();

  /**
   * Returns the endpoints whose records are there but cannot be read, with the reason, as far as
   * {@link #load} and {@link #invalid} found them and {@link #remove} did not remove them.
   */
  Map<Integer, String> unreadable();

  /** Adds an endpoint to {@link #unreadable}: its record can be read, but is not valid. */
  void invalid(int id, String reason);

  /**
   * Adds to {@link #unreadable} the endpoints of which others know and that have no record, where
   * records may have been lost unnoticed.
   *
   * @param others finds the ids that others know
   */
  default void missed(Supplier<Set<Integer>> others) {}

  /**
   * Saves a record; replaces the one with the same id. Records of different ids may be saved at the
   * same time.
   */
  void save(EndpointRecord endpoint);

  /** Returns whether the last write failed, so that {@link #checkWritable} is to be asked. */
  default boolean isFailing() {
    return false;
  }

  /**
   * Throws where a record is known not to be storable now, so that a change is refused before it
   * reaches the kernel.
   *
   * @param endpoint the record that is saved already
   */
  default void checkWritable(EndpointRecord endpoint) {}

  /** Removes a record, if it exists. */
  void remove(int id);

  /** Returns a store that keeps its content in memory. */
  static EndpointStore inMemory() {
    return new EndpointStore() {
      private final Map<Integer, EndpointRecord> records = new TreeMap<>();
      private final Map<Integer, String> invalid = new TreeMap<>();

      @Override
      public synchronized List<EndpointRecord> load() {
        invalid.clear();
        return List.copyOf(records.values());
      }

      @Override
      public synchronized Map<Integer, String> unreadable() {
        return Map.copyOf(invalid);
      }

      @Override
      public synchronized void invalid(int id, String reason) {
        invalid.put(id, reason);
      }

      @Override
      public synchronized void save(EndpointRecord endpoint) {
        records.put(endpoint.id(), endpoint);
      }

      @Override
      public synchronized void remove(int id) {
        records.remove(id);
        invalid.remove(id);
      }
    };
  }
}
