package agent.state;

import agent.datapath.manager.guard.Faults;
import agent.endpoint.state.EndpointIdentifier;
import agent.endpoint.state.EndpointRecord;
import agent.endpoint.state.EndpointStore;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/** Stores each endpoint in a file of its own, {@code endpoints/<id>.json}. */
final class EndpointFiles implements EndpointStore {
  private static final Logger LOGGER = LogManager.getLogger(EndpointFiles.class);

  private final StateFolder<EndpointRecord> folder;
  private final Faults faults;
  private final Map<Integer, String> unreadable = new TreeMap<>();

  EndpointFiles(StateFolder<EndpointRecord> folder, Faults faults) {
    this.folder = folder;
    this.faults = faults;
  }

  @Override
  public List<EndpointRecord> load() {
    final List<EndpointRecord> endpoints = new ArrayList<>();
    unreadable.clear();
    for (final String name : folder.names()) {
      final int id = NumberedFiles.numberOf(name, EndpointIdentifier.MAX_LOCAL_ID);
      if (id == 0) {
        LOGGER.warn("state file {} is not that of an endpoint; it is not read", folder.path(name));
        continue;
      }
      try {
        final EndpointRecord endpoint = folder.read(name).orElse(null);
        if (endpoint != null && endpoint.id() == id) {
          endpoints.add(endpoint);
        } else if (endpoint != null) {
          invalid(id, "it holds endpoint " + endpoint.id());
        }
      } catch (DamagedStateException e) {
        invalid(id, e.getMessage());
      }
    }
    return endpoints;
  }

  @Override
  public Map<Integer, String> unreadable() {
    return Map.copyOf(unreadable);
  }

  @Override
  public void invalid(int id, String reason) {
    final String message =
        ("the record in %s cannot be read (%s); the endpoint is closed. Restore the file and start"
                + " the agent again, or delete the endpoint")
            .formatted(folder.path(name(id)), reason);
    unreadable.put(id, message);
    faults.failed(subject(id), "endpoint " + id + ": " + message);
  }

  @Override
  public void save(EndpointRecord endpoint) {
    folder.write(name(endpoint.id()), endpoint);
  }

  /** Writes the record once more where the last write failed: only this shows whether it can be. */
  @Override
  public void checkWritable(EndpointRecord endpoint) {
    if (folder.isFailing()) {
      save(endpoint);
    }
  }

  @Override
  public void remove(int id) {
    folder.remove(name(id));
    unreadable.remove(id);
    faults.clear(subject(id));
  }

  private String subject(int id) {
    return folder.path(name(id)).toString();
  }

  private static String name(int id) {
    return Integer.toString(id);
  }
}
