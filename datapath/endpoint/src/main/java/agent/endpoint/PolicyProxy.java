package agent.endpoint;

import agent.conductor.ConductorAgent;
import agent.endpoint.build.PolicyRealization;
import agent.policy.PolicyChange;
import agent.policy.PolicyEngine;
import agent.policy.PolicyUpdate;
import agent.policy.reference.SelectorListing;
import agent.policy.repository.PolicySnapshot;
import agent.policy.resolve.EnforcementMode;
import agent.policy.trace.PolicyQuery;
import agent.policy.trace.PolicyTrace;
import agent.types.IpAddress;
import agent.types.ServiceName;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * Serves policy requests of other threads: reads come from the engine, changes run on {@code
 * ep-conductor}.
 */
final class PolicyProxy implements PolicyService {
  private final ConductorAgent conductor;
  private final PolicyEngine engine;
  private final PolicyCommits commits;
  private final PolicyRealization realization;
  private final CompletableFuture<Void> ready;
  private CompletableFuture<?> lastSubmitted;

  /**
   * Creates a proxy.
   *
   * @param ready changes wait until it has completed
   */
  PolicyProxy(
      ConductorAgent conductor,
      PolicyEngine engine,
      PolicyCommits commits,
      PolicyRealization realization,
      CompletableFuture<Void> ready) {
    this.conductor = conductor;
    this.engine = engine;
    this.commits = commits;
    this.realization = realization;
    this.ready = ready;
    lastSubmitted = ready;
  }

  @Override
  public CompletableFuture<PolicySnapshot> change(PolicyChange change) {
    return ready.thenCompose(done -> commits.add(change));
  }

  @Override
  public PolicySnapshot get(List<String> labels) {
    return labels.isEmpty() ? engine.snapshot() : engine.snapshot(labels);
  }

  @Override
  public PolicyTrace trace(PolicyQuery query) {
    return engine.trace(query);
  }

  @Override
  public List<SelectorListing> selectors() {
    return engine.selectors();
  }

  @Override
  public CompletableFuture<Void> names(Map<String, ? extends Collection<IpAddress>> changed) {
    return realize(() -> engine.names(changed));
  }

  /** Most services are in no rule: they need no turn of the conductor but behind one that waits. */
  @Override
  public synchronized CompletableFuture<Void> services(
      Map<ServiceName, ? extends Collection<IpAddress>> changed) {
    if (lastSubmitted.isDone() && engine.takeUnselected(changed)) {
      return CompletableFuture.completedFuture(null);
    }
    return realize(() -> engine.services(changed));
  }

  /** Each change has all addresses of its names, so that they take effect in their order. */
  private synchronized CompletableFuture<Void> realize(Supplier<PolicyUpdate> change) {
    final CompletableFuture<CompletableFuture<Void>> submitted =
        lastSubmitted.thenCompose(done -> conductor.submit(() -> realization.realize(change)));
    lastSubmitted = submitted.exceptionally(failure -> null);
    return submitted.thenCompose(Function.identity());
  }

  @Override
  public Set<String> wantedNames() {
    return engine.wantedNames();
  }

  @Override
  public EnforcementMode mode() {
    return engine.mode();
  }
}
