package agent.server.handler;

import agent.datapath.spec.ServiceEntries;
import agent.datapath.spec.ServiceProxy;
import agent.maps.layout.SocketCounter;
import agent.types.Refusal;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;

/** A datapath that holds services in memory, and refuses them on demand. */
final class FakeServiceProxy implements ServiceProxy {
  final Map<Integer, ServiceEntries> held = new TreeMap<>();
  Refusal refusal;

  @Override
  public CompletableFuture<Set<Integer>> known() {
    return CompletableFuture.completedFuture(held.keySet());
  }

  @Override
  public CompletableFuture<List<KeptFrontend>> restore(
      Collection<ServiceEntries> services, Set<Integer> kept) {
    services.forEach(service -> held.put(service.id(), service));
    return CompletableFuture.completedFuture(List.of());
  }

  /** Executes commands one at a time, on the threads of their callers. */
  @Override
  public synchronized CompletableFuture<Void> run(Runnable command) {
    return CompletableFuture.runAsync(command, Runnable::run);
  }

  @Override
  public Placed place(ServiceEntries service) {
    return () -> service;
  }

  @Override
  public CompletableFuture<Void> put(Placed placed) {
    if (refusal != null) {
      return CompletableFuture.failedFuture(refusal);
    }
    final ServiceEntries service = placed.service();
    held.put(service.id(), service);
    return CompletableFuture.completedFuture(null);
  }

  @Override
  public CompletableFuture<Void> remove(int id) {
    held.remove(id);
    return CompletableFuture.completedFuture(null);
  }

  @Override
  public Hooks hooks() {
    return Hooks.ATTACHED;
  }

  @Override
  public int mostCells() {
    return 0;
  }

  @Override
  public Map<SocketCounter, Long> counters() {
    return Map.of(SocketCounter.REFUSED, 3L);
  }
}
