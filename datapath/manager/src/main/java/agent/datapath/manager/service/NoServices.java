package agent.datapath.manager.service;

import agent.datapath.manager.spec.ServiceEntries;
import agent.datapath.manager.spec.ServiceProxy;
import agent.maps.layout.SocketCounter;
import agent.types.Refusal;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/** The services of a node that has them switched off: it has none, and refuses new ones. */
public final class NoServices implements ServiceProxy {
  @Override
  public CompletableFuture<Set<Integer>> known() {
    return CompletableFuture.completedFuture(Set.of());
  }

  @Override
  public CompletableFuture<List<KeptFrontend>> restore(
      Collection<ServiceEntries> services, Set<Integer> kept) {
    return CompletableFuture.completedFuture(List.of());
  }

  @Override
  public CompletableFuture<Void> put(ServiceEntries service) {
    return CompletableFuture.failedFuture(
        Refusal.disabled("", "services are disabled by --disable-orch-services"));
  }

  @Override
  public CompletableFuture<Void> remove(int id) {
    return CompletableFuture.completedFuture(null);
  }

  @Override
  public Hooks hooks() {
    return Hooks.OFF;
  }

  @Override
  public int mostCells() {
    return 0;
  }

  @Override
  public Map<SocketCounter, Long> counters() {
    return Map.of();
  }
}
