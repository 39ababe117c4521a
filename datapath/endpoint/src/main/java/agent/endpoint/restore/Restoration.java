package agent.endpoint.restore;

import agent.conductor.ConductorAgent;
import agent.conductor.StepSequence;
import agent.datapath.spec.EndpointAttachmentProxy;
import agent.datapath.spec.PolicyDelta;
import agent.datapath.spec.PolicyEntry;
import agent.datapath.spec.PolicyMapProxy;
import agent.datapath.spec.PolicyMapProxy.PolicyChange;
import agent.endpoint.build.Answers;
import agent.endpoint.build.EndpointOperations;
import agent.endpoint.build.EndpointRemoval;
import agent.endpoint.state.Endpoint;
import agent.endpoint.state.EndpointIdentifier;
import agent.endpoint.state.EndpointJournal;
import agent.endpoint.state.EndpointRegistry;
import agent.endpoint.state.EndpointState;
import agent.identity.Identity;
import agent.ipcache.Ipcache;
import agent.maps.layout.RedirectKind;
import agent.node.LocalAddresses;
import agent.node.WorkloadRoutes;
import agent.policy.PolicyEngine;
import agent.policy.PolicyUpdate.EndpointPolicyChange;
import agent.types.OperationException;
import agent.types.Refusal;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Gatherers;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Restores the endpoints of the previous run without interrupting enforcement, in three parts. The
 * records are loaded: the endpoints are in the registry, in state restoring. The maps are prepared:
 * policy maps gain the desired entries, then the ipcache is compared, then the maps lose other
 * entries; changes of endpoints and policy wait for this. Then the endpoints are built, a few at a
 * time, and other operations run between them: an operation on an endpoint that is not built yet
 * builds it first. Runs on the conductor's thread, in steps, without a deadline: until an endpoint
 * is built, its pinned programs and maps enforce its policy.
 */
public final class Restoration {
  private static final Logger LOGGER = LogManager.getLogger(Restoration.class);

  /** Endpoints whose policy is resolved, or whose map is written, in one step. */
  private static final int BATCH = 32;

  /**
   * Two builds keep the loader busy: one loads its programs while the other is attached. They leave
   * a place in the queue of operations to the API.
   */
  private static final int MAX_BUILDS = 2;

  /**
   * The live state that restored endpoints are added to.
   *
   * @param registry the live endpoints
   * @param journal records that an endpoint keeps the policy of the previous run
   * @param operations builds them
   * @param removal continues removals of the previous run
   * @param engine resolves their policy
   * @param ipcache holds their addresses
   * @param routes holds the routes to them
   */
  public record LiveState(
      EndpointRegistry registry,
      EndpointJournal journal,
      EndpointOperations operations,
      EndpointRemoval removal,
      PolicyEngine engine,
      Ipcache ipcache,
      WorkloadRoutes routes) {}

  private final ConductorAgent conductor;
  private final StoredEndpoints stored;
  private final LiveState live;
  private final LocalAddresses localAddresses;
  private final EndpointAttachmentProxy datapath;
  private final PolicyMapProxy policyMaps;
  private final OrphanCleanup orphans;
  private final RestoreProgress progress;
  private final CompletableFuture<Void> loaded = new CompletableFuture<>();
  private final CompletableFuture<Void> prepared = new CompletableFuture<>();
  private final List<String> errors = new ArrayList<>();
  private final List<Integer> failed = new ArrayList<>();
  private List<Endpoint> endpoints = List.of();
  private Builds builds;

  /**
   * Creates a restoration into the live state.
   *
   * @param progress counts the endpoints that are restored
   */
  public Restoration(
      ConductorAgent conductor,
      StoredEndpoints stored,
      LiveState live,
      LocalAddresses localAddresses,
      Kernel kernel,
      OrphanCleanup orphans,
      RestoreProgress progress) {
    this.conductor = conductor;
    this.stored = stored;
    this.live = live;
    this.localAddresses = localAddresses;
    datapath = kernel.endpoints();
    policyMaps = kernel.policyMaps();
    this.orphans = orphans;
    this.progress = progress;
  }

  /**
   * The proxies to the kernel's state of the previous run.
   *
   * @param endpoints programs and links
   * @param policyMaps policy maps
   */
  public record Kernel(EndpointAttachmentProxy endpoints, PolicyMapProxy policyMaps) {}

  /** Returns a future that completes when the registry has every endpoint of the previous run. */
  public CompletableFuture<Void> loaded() {
    return loaded;
  }

  /** Returns a future that completes when policy maps and ipcache may be changed. */
  public CompletableFuture<Void> prepared() {
    return prepared;
  }

  /** Restores the endpoints; called once. */
  public CompletableFuture<RestoreReport> restore() {
    final CompletableFuture<RestoreReport> result = new CompletableFuture<>();
    final CompletableFuture<Set<Integer>> known = datapath.known();
    final CompletableFuture<Set<Integer>> enforced =
        live.engine().isHeld() ? datapath.enforced() : CompletableFuture.completedFuture(Set.of());
    final CompletableFuture<Set<Integer>> remembered = datapath.rememberedRemovals();
    final StepSequence steps = new StepSequence(conductor::wake);
    steps
        .thenAwait(() -> known)
        .thenAwait(() -> enforced)
        .thenAwait(() -> remembered)
        .thenAwait(() -> stored.find(datapath, known.join(), conductor, errors))
        .thenAwait(() -> stored.load(errors))
        .thenAwait(
            () -> stored.closeInvalid(datapath, policyMaps, live.ipcache(), conductor, errors))
        .thenAwait(this::keepCidrs)
        .then(() -> select(remembered.join()))
        .then(() -> loaded.complete(null))
        .then(() -> prepare(steps, known.join(), enforced.join()))
        .then(
            () ->
                steps
                    .then(() -> prepared.complete(null))
                    .thenAwait(() -> orphans.remove(known.join(), remembered.join(), errors))
                    .thenAwait(() -> builds.run())
                    .then(this::synchronizeRoutes)
                    .onDone(() -> result.complete(report())));
    steps.onFailure(failure -> failed(failure, result));
    conductor.beginHere(steps);
    return result;
  }

  /**
   * Whatever step has failed, the ipcache is compared and the endpoints that are loaded are built:
   * a build needs no other step.
   */
  private void failed(RuntimeException failure, CompletableFuture<RestoreReport> result) {
    prepared.complete(null);
    if (loaded.completeExceptionally(failure)) {
      progress.end();
      result.completeExceptionally(failure);
      return;
    }
    errors.add(String.valueOf(failure.getMessage()));
    conductor.beginHere(
        new StepSequence(conductor::wake)
            .thenAwait(this::compareIpcache)
            .thenAwait(() -> builds.run())
            .onDone(() -> result.complete(report()))
            .onFailure(result::completeExceptionally));
  }

  /** Continues removals that the store could not record, and stages the ipcache of all others. */
  private void select(Set<Integer> removed) {
    final List<Endpoint> restoring = new ArrayList<>();
    for (final Endpoint endpoint : live.registry().all()) {
      if (removed.contains(endpoint.id())) {
        endpoint.removalRemembered(true);
        live.operations()
            .onPresent(
                EndpointIdentifier.local(endpoint.id()),
                present -> live.removal().remove(present, "deleted before the restart"));
      } else if (endpoint.is(EndpointState.RESTORING)) {
        restoring.add(endpoint);
      }
    }
    endpoints = List.copyOf(restoring);
    builds = new Builds();
    stageIpcache(removed);
    progress.begin(endpoints.size(), System.nanoTime());
  }

  /** Keeps the identities of CIDRs of the previous run where the rules cannot be read. */
  private CompletableFuture<?> keepCidrs() {
    return live.engine().isHeld()
        ? live.ipcache()
            .inKernel()
            .thenAcceptAsync(
                held ->
                    held.stream()
                        .filter(entry -> entry.identity() >= Identity.LOCAL_MIN)
                        .forEach(entry -> live.engine().keepCidr(entry.prefix(), entry.identity())),
                conductor::run)
        : null;
  }

  private void stageIpcache(Set<Integer> removed) {
    for (final Endpoint endpoint : live.registry().all()) {
      // Until the identity arrives, the entry keeps the number of the previous run.
      final int identity =
          endpoint.identity() == null ? endpoint.record().identity() : endpoint.identity().id();
      if ((!endpoint.is(EndpointState.INVALID) || endpoint.isRecordUnreadable())
          && identity != 0
          && !removed.contains(endpoint.id())) {
        live.ipcache().stageEndpoint(endpoint.id(), identity, endpoint.addresses());
      }
    }
    live.ipcache().stage(live.engine().outsidePrefixes(), localAddresses.reachable());
  }

  private CompletableFuture<?> compareIpcache() {
    return Answers.settled(errors, live.ipcache().compare());
  }

  /** Adds the steps that bring policy maps and ipcache to the present policy. */
  private void prepare(StepSequence steps, Set<Integer> known, Set<Integer> enforced) {
    steps.then(() -> live.registry().all().forEach(this::restorePorts));
    for (final List<Endpoint> batch : batches()) {
      steps.then(() -> batch.forEach(endpoint -> resolve(endpoint, enforced)));
    }
    steps.then(
        () -> {
          live.engine().refresh(); // the comparison of the ipcache includes the CIDRs
          endpoints.forEach(
              e -> live.engine().policyOf(e.id()).ifPresent(policy -> e.resolved(policy)));
          publish();
        });
    steps.thenAwait(this::startProxies);
    steps.thenAwait(() -> gains(known));
    steps.thenAwait(this::compareIpcache);
    each(
        steps,
        "policy map",
        endpoint ->
            policyMaps.synchronize(
                endpoint.id(), endpoint.policy().identity(), endpoint.policy().entries()),
        endpoint -> endpoint.realized(endpoint.policy(), true));
  }

  /** Proxies judge by the policies from now on: what follows starts them. */
  private void publish() {
    live.engine()
        .publish(
            live.engine().requests().revision(),
            endpoints.stream()
                .filter(endpoint -> endpoint.policy() != null)
                .map(e -> new EndpointPolicyChange(e.id(), e.policy(), PolicyDelta.NONE))
                .toList());
  }

  private CompletableFuture<Void> startProxies() {
    final Set<RedirectKind> kinds = EnumSet.noneOf(RedirectKind.class);
    endpoints.stream()
        .map(Endpoint::policy)
        .filter(policy -> policy != null && !policy.requests().isEmpty())
        .forEach(policy -> kinds.addAll(PolicyEntry.redirects(policy.entries())));
    return policyMaps.startProxies(kinds);
  }

  /** Until its identity arrives, peers know an endpoint by the number of the previous run. */
  private void restorePorts(Endpoint endpoint) {
    final int identity =
        endpoint.identity() == null ? endpoint.record().identity() : endpoint.identity().id();
    if (endpoint.isLive() && identity != 0 && !endpoint.record().namedPorts().isEmpty()) {
      live.engine().restorePorts(endpoint.id(), identity, endpoint.record().namedPorts());
    }
  }

  /** Writes what policy maps gain, in one call: those that share a map gain the same. */
  private CompletableFuture<?> gains(Set<Integer> known) {
    final List<PolicyChange> changes =
        endpoints.stream()
            .filter(endpoint -> endpoint.policy() != null && known.contains(endpoint.id()))
            .map(
                endpoint ->
                    new PolicyChange(
                        endpoint.id(),
                        endpoint.policy().identity(),
                        new PolicyDelta(endpoint.policy().entries(), List.of())))
            .toList();
    return Answers.settled(
        errors,
        policyMaps
            .apply(changes)
            .thenAccept(
                failures ->
                    failures.forEach(
                        (id, failure) ->
                            LOGGER.warn(
                                "endpoint {}: policy map gains: {}", id, failure.getMessage()))));
  }

  private List<List<Endpoint>> batches() {
    return endpoints.stream().gather(Gatherers.windowFixed(BATCH)).toList();
  }

  /** An endpoint whose policy the kernel does not enforce is closed while rules cannot be read. */
  private void resolve(Endpoint endpoint, Set<Integer> enforced) {
    final int id = endpoint.id();
    if (live.engine().isHeld() && enforced.contains(id)) {
      live.engine().keep(id);
    }
    try {
      live.engine().endpointSet(id, endpoint.identity(), endpoint.record().namedPorts());
    } catch (Refusal | OperationException failure) {
      if (live.engine().keeps(id)) {
        live.journal().held(endpoint, failure.getMessage());
      } else {
        LOGGER.warn("endpoint {}: {}", id, failure.getMessage()); // its build reports it
      }
    }
  }

  /**
   * Adds steps that send one request for each endpoint of a batch and handle the answers. What
   * fails here is repeated by the build of the endpoint.
   */
  private void each(
      StepSequence steps,
      String what,
      Function<Endpoint, CompletableFuture<?>> ask,
      Consumer<Endpoint> done) {
    for (final List<Endpoint> batch : batches()) {
      final Map<Endpoint, CompletableFuture<?>> asked = new HashMap<>();
      steps
          .thenAwait(
              () -> {
                batch.stream()
                    .filter(endpoint -> endpoint.policy() != null)
                    .forEach(endpoint -> asked.put(endpoint, ask.apply(endpoint)));
                return CompletableFuture.allOf(asked.values().toArray(CompletableFuture<?>[]::new))
                    .exceptionally(failure -> null);
              })
          .then(
              () ->
                  asked.forEach(
                      (endpoint, answer) -> {
                        if (answer.isCompletedExceptionally()) {
                          final String message = answer.exceptionNow().getMessage();
                          LOGGER.warn("endpoint {}: {}: {}", endpoint.id(), what, message);
                        } else {
                          done.accept(endpoint);
                        }
                      }));
    }
  }

  /** Builds the endpoints, at most {@link #MAX_BUILDS} at a time. */
  private final class Builds {
    private final Deque<Endpoint> waiting = new ArrayDeque<>(endpoints);
    private final CompletableFuture<Void> ended = new CompletableFuture<>();
    private int running;

    CompletableFuture<Void> run() {
      while (running < MAX_BUILDS && !waiting.isEmpty()) {
        final Endpoint endpoint = waiting.poll();
        running++;
        live.operations()
            .restore(endpoint)
            .whenCompleteAsync((done, failure) -> onBuilt(endpoint), conductor::run);
      }
      if (running == 0) {
        ended.complete(null);
      }
      return ended;
    }

    private void onBuilt(Endpoint endpoint) {
      running--;
      if (live.registry().holds(endpoint) && endpoint.is(EndpointState.NOT_READY)) {
        failed.add(endpoint.id());
      }
      progress.count(System.nanoTime());
      run();
    }
  }

  /** Removes routes to workloads that no longer exist; the builds have added the others. */
  private void synchronizeRoutes() {
    errors.addAll(
        live.routes()
            .synchronize(
                live.registry().all().stream()
                    .filter(Restoration::isRouted)
                    .filter(endpoint -> endpoint.record().configuration().datapath().routed())
                    .map(Endpoint::wantedRoute)
                    .toList()));
  }

  /** An endpoint without a readable record keeps its route, if its interface is known. */
  private static boolean isRouted(Endpoint endpoint) {
    return endpoint.is(EndpointState.INVALID)
        ? endpoint.isRecordUnreadable() && !endpoint.record().device().name().isEmpty()
        : endpoint.isLive();
  }

  private RestoreReport report() {
    progress.end();
    final List<Integer> restored =
        endpoints.stream().map(Endpoint::id).filter(id -> !failed.contains(id)).toList();
    LOGGER.info(
        "endpoints: {} restored, {} failed, {} removed",
        restored.size(),
        failed.size(),
        stored.removed().size());
    errors.forEach(error -> LOGGER.warn("restore: {}", error));
    return new RestoreReport(
        restored,
        failed.stream().sorted().toList(),
        List.copyOf(stored.removed()),
        List.copyOf(errors));
  }
}
