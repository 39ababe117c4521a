package agent.endpoint.build;

import agent.conductor.ConductorAgent;
import agent.conductor.StepSequence;
import agent.conductor.Work;
import agent.datapath.spec.PolicyMapProxy;
import agent.endpoint.state.Endpoint;
import agent.endpoint.state.EndpointJournal;
import agent.endpoint.state.EndpointRegistry;
import agent.ipcache.Ipcache;
import agent.maps.layout.RedirectKind;
import agent.policy.PolicyCommit;
import agent.policy.PolicyCommitting;
import agent.policy.PolicyEngine;
import agent.policy.PolicyUpdate;
import agent.policy.PolicyUpdate.EndpointPolicyChange;
import agent.policy.resolve.ResolvedPolicy;
import agent.types.OperationException;
import java.util.ArrayDeque;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/**
 * Realizes policy updates one after another, in the order of the engine: each is a difference to
 * the previous one. Runs on the conductor's thread.
 */
public final class PolicyRealization {
  /** A change of a few rules has no more steps. */
  private static final int MOST_URGENT_STEPS = 5;

  private final ConductorAgent conductor;
  private final EndpointRegistry registry;
  private final EndpointJournal journal;
  private final PolicyEngine engine;
  private final PolicyMapProxy policyMaps;
  private final Ipcache ipcache;
  private final CompletableFuture<Void> ready;
  private CompletableFuture<Void> last;

  /** The last update or comparison of each endpoint that is not realized yet. */
  private final Map<Integer, CompletableFuture<Void>> lastOf = new HashMap<>();

  /** Changes of the engine that wait for the end of a commit, in their order. */
  private final Queue<Runnable> deferred = new ArrayDeque<>();

  private boolean isCommitting;

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
    this.ready = ready;
    last = ready;
  }

  /**
   * Realizes one update. An endpoint that cannot apply it becomes not-ready and is built again; the
   * other endpoints are not affected.
   *
   * @param update the result of the latest change of the policy engine
   * @return fails where an entry of the ipcache could not be written; the datapath retries that
   */
  public CompletableFuture<Void> realize(PolicyUpdate update) {
    final UpdateRealization run =
        new UpdateRealization(update, conductor, registry, journal, policyMaps, ipcache, engine);
    return enqueue(run.endpoints(), steps -> run.addTo(addProxies(steps, update)));
  }

  /** Adds the start of the proxies that an update sends flows to, before its first write. */
  private StepSequence addProxies(StepSequence steps, PolicyUpdate update) {
    final Set<RedirectKind> kinds = EnumSet.noneOf(RedirectKind.class);
    changes(update).forEach(change -> kinds.addAll(change.diff().redirects()));
    return kinds.isEmpty() ? steps : steps.thenAwait(() -> policyMaps.startProxies(kinds));
  }

  private static Stream<EndpointPolicyChange> changes(PolicyUpdate update) {
    return Stream.of(update.bridges(), update.endpoints(), update.cleanups()).flatMap(List::stream);
  }

  /**
   * Makes a change of the engine as soon as no commit is in progress and realizes it, as {@link
   * #realize(PolicyUpdate)}. Changes are made in the order of their calls.
   *
   * @return fails also where the change is refused
   */
  public CompletableFuture<Void> realize(Supplier<PolicyUpdate> change) {
    return realizeIfAny(() -> Optional.of(change.get()));
  }

  /** Does so for a change that may have nothing to realize. */
  CompletableFuture<Void> realizeIfAny(Supplier<Optional<PolicyUpdate>> change) {
    final CompletableFuture<CompletableFuture<Void>> made = new CompletableFuture<>();
    whenFree(
        () -> {
          try {
            made.complete(
                change
                    .get()
                    .map(this::realize)
                    .orElseGet(() -> CompletableFuture.completedFuture(null)));
          } catch (RuntimeException refused) {
            made.completeExceptionally(refused);
          }
        });
    return made.thenCompose(Function.identity());
  }

  /**
   * Commits changes of the rules as soon as no other commit is in progress. A large commit lets all
   * else pass after its first steps, but other changes of the engine, which wait for the last one.
   *
   * @param begin begins the commit; what it throws fails the result
   * @return completes with what was committed, before the changes of the engine that wait
   */
  public CompletableFuture<List<PolicyCommit>> commit(Supplier<PolicyCommitting> begin) {
    final CompletableFuture<List<PolicyCommit>> result = new CompletableFuture<>();
    whenFree(
        () -> {
          try {
            conductor.beginUrgent(new Commit(begin.get(), result));
            isCommitting = true;
          } catch (RuntimeException refused) {
            result.completeExceptionally(refused);
          }
        });
    return result;
  }

  private void whenFree(Runnable change) {
    if (isCommitting || !deferred.isEmpty()) {
      deferred.add(change);
    } else {
      change.run();
    }
  }

  /** Makes the changes that wait, one a command; each may begin a commit. */
  private void makeNext() {
    if (!isCommitting && !deferred.isEmpty()) {
      deferred.peek().run(); // those that come meanwhile follow it
      deferred.poll();
      conductor.run(this::makeNext);
    }
  }

  private final class Commit implements Work {
    private final PolicyCommitting steps;
    private final CompletableFuture<List<PolicyCommit>> result;
    private boolean isAwaited;
    private int urgentSteps;

    Commit(PolicyCommitting steps, CompletableFuture<List<PolicyCommit>> result) {
      this.steps = steps;
      this.result = result;
    }

    @Override
    public Progress step() {
      final Progress progress = steps.step();
      if (progress == Progress.WAITING && !isAwaited) {
        isAwaited = true;
        steps.awaited().whenComplete((done, failure) -> conductor.wake());
      }
      if (progress == Progress.WORKED) {
        isAwaited = false;
        if (++urgentSteps == MOST_URGENT_STEPS) {
          conductor.beginPatient(this);
          return Progress.DONE;
        }
      }
      if (progress == Progress.DONE) {
        isCommitting = false;
        result.complete(steps.commits());
        makeNext();
      }
      return progress;
    }

    @Override
    public void failed(RuntimeException failure) {
      isCommitting = false;
      result.completeExceptionally(failure);
      makeNext();
    }
  }

  /**
   * Checks that a realized update sends flows only to proxies that run.
   *
   * @throws OperationException where one does not start, so that these flows are dropped
   */
  public void requireServed(PolicyUpdate update) {
    changes(update)
        .map(change -> policyMaps.unserved(change.diff().redirects()))
        .flatMap(Optional::stream)
        .findFirst()
        .ifPresent(
            reason -> {
              throw new OperationException(reason);
            });
  }

  /** Enforces the policies on flows that proxies have open: an address has another identity. */
  CompletableFuture<Void> enforceOnOpenFlows() {
    return policyMaps.enforceOnOpenFlows();
  }

  /** Realizes the policy changes caused by identities that were added or removed. */
  public CompletableFuture<Void> refresh() {
    return realize(engine::refresh);
  }

  /**
   * Compares the policy map of an endpoint with the kernel and writes the difference to its present
   * policy.
   */
  public CompletableFuture<Void> synchronize(Endpoint endpoint) {
    final MapSynchronization run = new MapSynchronization(endpoint);
    return enqueue(Set.of(endpoint.id()), steps -> steps.thenAwait(run::ask).then(run::end));
  }

  /**
   * Returns a future that completes when the queued updates of an endpoint's policy are realized.
   */
  CompletableFuture<Void> idle(int endpointId) {
    return ready.isDone() ? lastOf.getOrDefault(endpointId, ready) : last;
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

  /** Returns whether the endpoint has a policy map that holds all it was asked to hold. */
  boolean hasMap(Endpoint endpoint) {
    return hasMap(endpoint, policyMaps);
  }

  static boolean hasMap(Endpoint endpoint, PolicyMapProxy maps) {
    return endpoint.realizedPolicy() != null && !maps.isBehind(endpoint.id());
  }

  private CompletableFuture<Void> enqueue(
      Set<Integer> endpoints, UnaryOperator<StepSequence> steps) {
    final CompletableFuture<Void> before = last;
    final CompletableFuture<Void> done = new CompletableFuture<>();
    final CompletableFuture<Void> ended = done.exceptionally(failure -> null);
    last = ended;
    endpoints.forEach(id -> lastOf.put(id, ended));
    ended.thenRun(() -> endpoints.forEach(id -> lastOf.remove(id, ended)));
    conductor.beginUrgent(
        steps
            .apply(new StepSequence(conductor::wake).thenAwait(() -> before))
            .onDone(() -> done.complete(null))
            .onFailure(done::completeExceptionally));
    return done;
  }
}
