package agent.endpoint;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Keeps endpoints over restarts. A call returns when they are safe, and throws where not. */
public interface EndpointStore {
  /** The endpoints that were saved and not removed. */
  List<EndpointRecord> load();

  /** Saves an endpoint, in place of what was saved under its id. */
  void save(EndpointRecord endpoint);

  /** Removes an endpoint; one that is not there is no error. */
  void remove(int id);

  /** A store that forgets when the process ends. */
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
