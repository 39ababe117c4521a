package agent.endpoint.build;

import agent.conductor.ConductorAgent;
import agent.conductor.StepSequence;
import agent.datapath.manager.spec.PolicyMapProxy;
import agent.endpoint.state.Endpoint;
import agent.endpoint.state.EndpointJournal;
import agent.endpoint.state.EndpointRegistry;
import agent.ipcache.Ipcache;
import agent.policy.PolicyEngine;
import agent.policy.PolicyUpdate;
import agent.policy.ResolvedPolicy;
import agent.types.OperationException;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/**
 * Realizes policy updates one after another, in the order of the engine: each is a difference to
 * the previous one. Runs on the conductor's thread.
 */
public final class PolicyRealization {
  private final ConductorAgent conductor;
  private final EndpointRegistry registry;
  private final EndpointJournal journal;
  private final PolicyEngine engine;
  private final PolicyMapProxy policyMaps;
  private final Ipcache ipcache;
  private CompletableFuture<Void> last;

  /**
   * Creates a realization without pending updates.
   *
   * @param ready updates are realized after it has completed
   */
  public PolicyRealization(
      ConductorAgent conductor,
      EndpointRegistry registry,
      EndpointJournal journal,
      PolicyEngine engine,
      PolicyMapProxy policyMaps,
      Ipcache ipcache,
      CompletableFuture<Void> ready) {
    this.conductor = conductor;
    this.registry = registry;
    this.journal = journal;
    this.engine = engine;
    this.policyMaps = policyMaps;
    this.ipcache = ipcache;
    last = ready;
  }

  /**
   * Realizes one update. An endpoint that cannot apply it becomes not-ready and is built again; the
   * other endpoints are not affected.
   *
   * @param update the result of the latest change of the policy engine
   * @return fails where the ipcache could not be written; the next write then compares the whole
   *     ipcache with the kernel first
   */
  public CompletableFuture<Void> realize(PolicyUpdate update) {
    final UpdateRealization run =
        new UpdateRealization(update, registry, journal, policyMaps, ipcache, engine);
    return enqueue(run::addTo);
  }

  /**
   * Checks that a realized update sends flows only to proxies that run.
   *
   * @throws OperationException where one does not start, so that these flows are dropped
   */
  public void requireServed(PolicyUpdate update) {
    Stream.of(update.bridges(), update.endpoints(), update.cleanups())
        .flatMap(List::stream)
        .map(change -> policyMaps.unserved(change.diff().upserts()))
        .flatMap(Optional::stream)
        .findFirst()
        .ifPresent(
            reason -> {
              throw new OperationException(reason);
            });
  }

  /** Realizes the policy changes caused by identities that were added or removed. */
  public CompletableFuture<Void> refresh() {
    return realize(engine.refresh());
  }

  /**
   * Compares the policy map of an endpoint with the kernel and writes the difference to its present
   * policy.
   */
  public CompletableFuture<Void> synchronize(Endpoint endpoint) {
    final MapSynchronization run = new MapSynchronization(endpoint);
    return enqueue(steps -> steps.thenAwait(run::ask).then(run::end));
  }

  /** Returns a future that completes when every update queued so far is realized. */
  public CompletableFuture<Void> idle() {
    return last;
  }

  private final class MapSynchronization {
    private final Endpoint endpoint;
    private ResolvedPolicy policy;

    MapSynchronization(Endpoint endpoint) {
      this.endpoint = endpoint;
    }

    CompletableFuture<?> ask() {
      policy = engine.policyOf(endpoint.id()).orElseThrow();
      return Answers.named(
          "endpoint " + endpoint.id() + ": policy map",
          policyMaps.synchronize(endpoint.id(), policy.identity(), policy.entries()));
    }

    void end() {
      endpoint.resolved(policy);
      endpoint.realized(policy, true);
    }
  }

  private CompletableFuture<Void> enqueue(UnaryOperator<StepSequence> steps) {
    final CompletableFuture<Void> before = last;
    final CompletableFuture<Void> done = new CompletableFuture<>();
    last = done.exceptionally(failure -> null);
    conductor.beginUrgent(
        steps
            .apply(new StepSequence(conductor::wake).thenAwait(() -> before))
            .onDone(() -> done.complete(null))
            .onFailure(done::completeExceptionally));
    return done;
  }
}
