package agent.endpoint.restore;

import agent.datapath.manager.spec.EndpointProxy;
import agent.datapath.manager.spec.PolicyDelta;
import agent.datapath.manager.spec.PolicyMapProxy;
import agent.datapath.manager.thread.ConductorAgent;
import agent.datapath.manager.thread.StepSequence;
import agent.endpoint.build.Answers;
import agent.endpoint.state.Endpoint;
import agent.endpoint.state.EndpointJournal;
import agent.endpoint.state.EndpointRegistry;
import agent.endpoint.state.EndpointState;
import agent.ipcache.Ipcache;
import agent.node.LocalAddresses;
import agent.node.WorkloadRoutes;
import agent.policy.PolicyEngine;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Function;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Restores the endpoints of the previous run without interrupting enforcement: policy maps first
 * gain the desired entries, then the ipcache is compared, then the maps lose other entries, and
 * programs are replaced in place. Runs on the conductor's thread, in steps.
 */
public final class Restoration {
  private static final Logger LOGGER = LogManager.getLogger(Restoration.class);

  /**
   * The live state that restored endpoints are added to.
   *
   * @param registry the live endpoints
   * @param journal records their transitions
   * @param engine resolves their policy
   * @param ipcache holds their addresses
   * @param routes holds the routes to them
   */
  public record LiveState(
      EndpointRegistry registry,
      EndpointJournal journal,
      PolicyEngine engine,
      Ipcache ipcache,
      WorkloadRoutes routes) {}

  private final ConductorAgent conductor;
  private final StoredEndpoints stored;
  private final LiveState live;
  private final LocalAddresses localAddresses;
  private final EndpointProxy datapath;
  private final PolicyMapProxy policyMaps;
  private final OrphanCleanup orphans;
  private final List<String> errors = new ArrayList<>();
  private final Map<Endpoint, RuntimeException> failed = new LinkedHashMap<>();
  private List<Endpoint> endpoints = List.of();

  /** Creates a restoration into the live state. */
  public Restoration(
      ConductorAgent conductor,
      StoredEndpoints stored,
      LiveState live,
      LocalAddresses localAddresses,
      EndpointProxy datapath,
      PolicyMapProxy policyMaps,
      OrphanCleanup orphans) {
    this.conductor = conductor;
    this.stored = stored;
    this.live = live;
    this.localAddresses = localAddresses;
    this.datapath = datapath;
    this.policyMaps = policyMaps;
    this.orphans = orphans;
  }

  /** Restores the endpoints; called once. */
  public CompletableFuture<RestoreReport> restore() {
    final CompletableFuture<RestoreReport> result = new CompletableFuture<>();
    final CompletableFuture<Set<Integer>> known = datapath.known();
    final StepSequence steps = new StepSequence(conductor::wake);
    steps
        .then(() -> stored.load(errors))
        .then(this::select)
        .then(this::resolve)
        .thenAwait(() -> known)
        .then(() -> addSteps(steps, known.join()))
        .onDone(() -> result.complete(report()))
        .onFailure(result::completeExceptionally);
    conductor.beginHere(steps);
    return result;
  }

  private void addSteps(StepSequence steps, Set<Integer> known) {
    each(
        steps,
        "policy map gains",
        endpoint ->
            known.contains(endpoint.id())
                ? policyMaps.apply(
                    endpoint.id(), new PolicyDelta(endpoint.policy().entries(), List.of()))
                : CompletableFuture.completedFuture(null),
        endpoint -> {});
    steps.thenAwait(this::compareIpcache);
    each(
        steps,
        "policy map",
        endpoint -> policyMaps.synchronize(endpoint.id(), endpoint.policy().entries()),
        endpoint -> endpoint.realized(endpoint.policy(), true));
    each(
        steps,
        "attach",
        endpoint -> datapath.attach(endpoint.spec()),
        endpoint -> endpoint.attached(endpoint.spec()));
    steps
        .then(this::routes)
        .thenAwait(() -> orphans.remove(live.registry(), errors))
        .then(this::settle);
  }

  private void select() {
    endpoints =
        live.registry().all().stream()
            .filter(endpoint -> endpoint.is(EndpointState.RESTORING))
            .toList();
  }

  private void resolve() {
    for (final Endpoint endpoint : endpoints) {
      live.journal()
          .note(
              endpoint,
              EndpointState.WAITING_TO_REGENERATE,
              "identity " + endpoint.identity().id() + " " + endpoint.identity().labels());
      live.journal().note(endpoint, EndpointState.REGENERATING, "restoring");
      try {
        live.engine().endpointSet(endpoint.id(), endpoint.identity());
      } catch (Refusal refusal) {
        failed.put(endpoint, refusal);
      }
    }
    live.engine().refresh();
    for (final Endpoint endpoint : endpoints) {
      live.engine().policyOf(endpoint.id()).ifPresent(endpoint::resolved);
    }
  }

  private CompletableFuture<?> compareIpcache() {
    for (final Endpoint endpoint : live.registry().all()) {
      // Until the identity arrives, the entry keeps the number of the previous run.
      final int identity =
          endpoint.identity() == null ? endpoint.record().identity() : endpoint.identity().id();
      if (!endpoint.is(EndpointState.INVALID) && identity != 0) {
        live.ipcache().stageEndpoint(endpoint.id(), identity, endpoint.addresses());
      }
    }
    live.ipcache().stage(live.engine().cidrIdentities(), localAddresses.reachable());
    return Answers.settled(errors, live.ipcache().compare());
  }

  /** Adds a step that sends one request for each endpoint, and a step that handles the answers. */
  private void each(
      StepSequence steps,
      String what,
      Function<Endpoint, CompletableFuture<?>> ask,
      Consumer<Endpoint> done) {
    final Map<Endpoint, CompletableFuture<?>> asked = new LinkedHashMap<>();
    steps
        .thenAwait(
            () -> {
              for (final Endpoint endpoint : endpoints) {
                if (!failed.containsKey(endpoint)) {
                  asked.put(endpoint, ask.apply(endpoint));
                }
              }
              return CompletableFuture.allOf(asked.values().toArray(CompletableFuture<?>[]::new))
                  .exceptionally(failure -> null);
            })
        .then(
            () ->
                asked.forEach(
                    (endpoint, answer) -> {
                      if (answer.isCompletedExceptionally()) {
                        failed.put(
                            endpoint,
                            Answers.named(
                                "endpoint " + endpoint.id() + ": " + what, answer.exceptionNow()));
                      } else {
                        done.accept(endpoint);
                      }
                    }));
  }

  private void routes() {
    final List<Endpoint> routed =
        endpoints.stream()
            .filter(endpoint -> endpoint.record().configuration().datapath().routed())
            .toList();
    final List<String> problems =
        live.routes().synchronize(routed.stream().map(Endpoint::wantedRoute).toList());
    errors.addAll(problems);
    if (problems.isEmpty()) {
      routed.forEach(endpoint -> endpoint.route(endpoint.wantedRoute()));
    }
  }

  private void settle() {
    for (final Endpoint endpoint : endpoints) {
      final RuntimeException failure = failed.get(endpoint);
      if (failure == null) {
        live.journal()
            .succeeded(endpoint, "restored, policy revision " + endpoint.realizedRevision());
      } else {
        live.journal().failed(endpoint, failure);
      }
    }
  }

  private RestoreReport report() {
    final List<Integer> restored =
        endpoints.stream()
            .filter(endpoint -> !failed.containsKey(endpoint))
            .map(Endpoint::id)
            .toList();
    final List<Integer> failedIds = failed.keySet().stream().map(Endpoint::id).sorted().toList();
    LOGGER.info(
        "endpoints: {} restored, {} failed, {} removed",
        restored.size(),
        failedIds.size(),
        stored.removed().size());
    errors.forEach(error -> LOGGER.warn("restore: {}", error));
    return new RestoreReport(
        restored, failedIds, List.copyOf(stored.removed()), List.copyOf(errors));
  }
}
