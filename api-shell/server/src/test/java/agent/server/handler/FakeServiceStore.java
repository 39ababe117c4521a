package agent.server.handler;

import agent.service.Service;
import agent.service.ServiceStore;
import java.util.List;
import java.util.Map;

/** A store that keeps nothing. */
final class FakeServiceStore implements ServiceStore {
  @Override
  public Stored load() {
    return new Stored(List.of(), Map.of());
  }

  @Override
  public void save(Service service) {
    // no later run reads it
  }

  @Override
  public void remove(int id) {
    // no later run reads it
  }
}
