package agent.endpoint.state;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Keeps the records of endpoints across restarts. A change is durable when its call returns; the
 * call throws where it cannot be stored.
 */
public interface EndpointStore {
  /** Returns the records that were saved and not removed. */
  List<EndpointRecord> load();

  /** Saves a record; replaces the one with the same id. */
  void save(EndpointRecord endpoint);

  /** Removes a record, if it exists. */
  void remove(int id);

  /** Returns a store that keeps its content in memory. */
  static EndpointStore inMemory() {
    return new EndpointStore() {
      private final Map<Integer, EndpointRecord> records = new TreeMap<>();

      @Override
      public synchronized List<EndpointRecord> load() {
        return List.copyOf(records.values());
      }

      @Override
      public synchronized void save(EndpointRecord endpoint) {
        records.put(endpoint.id(), endpoint);
      }

      @Override
      public synchronized void remove(int id) {
        records.remove(id);
      }
    };
  }
}
