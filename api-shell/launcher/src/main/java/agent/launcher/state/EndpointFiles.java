package agent.launcher.state;

import agent.endpoint.EndpointRecord;
import agent.endpoint.EndpointStore;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Endpoints, one file each: {@code endpoints/<id>.json}. */
public final class EndpointFiles implements EndpointStore {
  private final StateFolder folder;

  private EndpointFiles(StateFolder folder) {
    this.folder = folder;
  }

  /**
   * Opens the store.
   *
   * @param stateDirectory the agent's state directory
   * @return the store
   */
  public static EndpointFiles open(Path stateDirectory) {
    return new EndpointFiles(StateFolder.open(stateDirectory.resolve("endpoints"), "endpoint"));
  }

  @Override
  public List<EndpointRecord> load() {
    final List<EndpointRecord> endpoints = new ArrayList<>();
    for (final String name : folder.names()) {
      final Optional<EndpointRecord> endpoint = folder.read(name, EndpointRecord.class);
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
