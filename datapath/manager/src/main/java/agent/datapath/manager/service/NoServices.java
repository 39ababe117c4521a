package agent.datapath.manager.service;

import agent.conductor.ConductorAgent;
import agent.datapath.spec.ServiceEntries;
import agent.datapath.spec.ServiceProxy;
import agent.maps.layout.SocketCounter;
import agent.types.Refusal;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/** The services of a node that has them switched off: it has none, and refuses new ones. */
public final class NoServices implements ServiceProxy {
  private final ConductorAgent conductor;

  /**
   * Creates the services of a datapath without any.
   *
   * @param conductor executes the commands of their owner
   */
  public NoServices(ConductorAgent conductor) {
    this.conductor = conductor;
  }

  @Override
  public CompletableFuture<Void> run(Runnable command) {
    return conductor.run(command);
  }

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
  public Placed place(ServiceEntries service) {
    return () -> service;
  }

  @Override
  public CompletableFuture<Void> put(Placed service) {
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
