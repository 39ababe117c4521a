package agent.server.handler;

import agent.service.Service;
import agent.service.ServiceStore;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** A store that keeps nothing. */
final class FakeServiceStore implements ServiceStore {
  @Override
  public Stored load() {
    return new Stored(List.of(), Map.of());
  }

  @Override
  public CompletableFuture<Void> save(Service service) {
    return CompletableFuture.completedFuture(null); // no later run reads it
  }

  @Override
  public CompletableFuture<Void> remove(int id) {
    return CompletableFuture.completedFuture(null);
  }
}
