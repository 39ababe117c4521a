package agent.state;

import agent.endpoint.state.EndpointRecord;
import agent.endpoint.state.EndpointStore;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Stores each endpoint in a file of its own, {@code endpoints/<id>.json}. */
final class EndpointFiles implements EndpointStore {
  private final StateFolder<EndpointRecord> folder;

  EndpointFiles(StateFolder<EndpointRecord> folder) {
    this.folder = folder;
  }

  @Override
  public List<EndpointRecord> load() {
    final List<EndpointRecord> endpoints = new ArrayList<>();
    for (final String name : folder.names()) {
      final Optional<EndpointRecord> endpoint = folder.read(name);
      if (endpoint.isPresent() && !name.equals(name(endpoint.get().id()))) {
        folder.setAside(name, "holds endpoint " + endpoint.get().id());
      } else {
        endpoint.ifPresent(endpoints::add);
      }
    }
    return endpoints;
  }

  @Override
  public void save(EndpointRecord endpoint) {
    folder.write(name(endpoint.id()), endpoint);
  }

  @Override
  public void remove(int id) {
    folder.remove(name(id));
  }

  private static String name(int id) {
    return Integer.toString(id);
  }
}
