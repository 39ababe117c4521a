package agent.endpoint.build;

import agent.conductor.ConductorAgent;
import agent.conductor.StepList;
import agent.conductor.StepSequence;
import agent.datapath.spec.PolicyDelta;
import agent.datapath.spec.PolicyMapProxy;
import agent.datapath.spec.PolicyMapProxy.PolicyChange;
import agent.endpoint.state.Endpoint;
import agent.endpoint.state.EndpointJournal;
import agent.endpoint.state.EndpointRegistry;
import agent.endpoint.state.EndpointState;
import agent.ipcache.Ipcache;
import agent.policy.PolicyEngine;
import agent.policy.PolicyUpdate;
import agent.policy.PolicyUpdate.EndpointPolicyChange;
import agent.policy.reference.OutsideChanges;
import agent.types.Refusal;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.stream.Stream;
import org.agrona.collections.IntHashSet;

/**
 * Realizes one policy update on all endpoints, in five steps: what the rules before say of the
 * identities of new CIDRs, ipcache entries of new CIDRs, what policy maps gain and lose, ipcache
 * entries of removed CIDRs, and policy map entries of their identities. With this order no packet
 * has an identity that the policy maps do not know, no packet is dropped that is allowed before and
 * after the update, and none passes that neither allows.
 *
 * <p>Where many endpoints change, each of the five takes several steps, between which the conductor
 * does other work, and the last one of them asks for all maps at once: the datapath orders the
 * writes of one call so that no packet between two endpoints is judged by an old policy of one and
 * a new one of the other, and requests are judged by both sides, too.
 */
final class UpdateRealization {
  /** So many ipcache entries are added or removed in one step. */
  private static final int ENTRIES_A_STEP = 1024;

  private final PolicyUpdate update;
  private final ConductorAgent conductor;
  private final EndpointRegistry registry;
  private final EndpointJournal journal;
  private final PolicyMapProxy policyMaps;
  private final Ipcache ipcache;
  private final PolicyEngine engine;
  private final Map<Endpoint, RuntimeException> failed = new LinkedHashMap<>();
  private final Set<Endpoint> building = new HashSet<>();
  private final Set<Endpoint> changed = new HashSet<>();
  private final Deque<CompletableFuture<Map<Integer, RuntimeException>>> asked = new ArrayDeque<>();

  /** Identities that no address has while the change that is asked for is written. */
  private Set<Integer> unused = Set.of();

  private CompletableFuture<Void> writing = CompletableFuture.completedFuture(null);
  private RuntimeException ipcacheFailure;

  /**
   * Creates the realization of an update.
   *
   * @param engine has the policies that maps cannot hold, and publishes those that are in force
   */
  UpdateRealization(
      PolicyUpdate update,
      ConductorAgent conductor,
      EndpointRegistry registry,
      EndpointJournal journal,
      PolicyMapProxy policyMaps,
      Ipcache ipcache,
      PolicyEngine engine) {
    this.update = update;
    this.conductor = conductor;
    this.registry = registry;
    this.journal = journal;
    this.policyMaps = policyMaps;
    this.ipcache = ipcache;
    this.engine = engine;
  }

  /**
   * Adds the steps of this update; steps without work are omitted. The datapath carries out what it
   * is asked for in that order: new ipcache entries do not wait for the answer to what is before
   * them.
   */
  StepSequence addTo(StepSequence steps) {
    steps.thenAwait(this::begin);
    if (!update.bridges().isEmpty()) {
      steps.thenAwait(this::bridge);
    }
    if (!update.outside().added().isEmpty()) {
      final OutsideChanges outside = update.outside();
      steps.thenAwait(() -> inSteps(Ipcache.inOrder(outside.added()), ipcache::putOutside));
    }
    write(steps, update.endpoints());
    if (!update.outside().removed().isEmpty()) {
      steps
          .thenAwait(() -> inSteps(update.outside().removed(), ipcache::removeOutside))
          .thenAwait(() -> writing);
    }
    write(steps, update.cleanups());
    if (update.endpoints().isEmpty() && update.cleanups().isEmpty()) {
      steps.thenAwait(this::allAsked);
    }
    if (mayRevoke()) {
      steps.thenAwait(policyMaps::enforceOnOpenFlows);
    }
    return steps.thenAwait(this::end);
  }

  private boolean hasMap(Endpoint endpoint) {
    return PolicyRealization.hasMap(endpoint, policyMaps);
  }

  /** Returns the endpoints whose policy the update changes, or cannot change. */
  Set<Integer> endpoints() {
    final Set<Integer> all = new HashSet<>(update.failures().keySet());
    Stream.of(update.bridges(), update.endpoints(), update.cleanups())
        .flatMap(List::stream)
        .forEach(change -> all.add(change.endpointId()));
    return all;
  }

  /**
   * Writes ipcache entries, some in each step, in their order; returns null, or completes when all
   * are asked for.
   */
  private <T> CompletableFuture<?> inSteps(
      List<T> entries, Function<List<T>, CompletableFuture<Void>> write) {
    final StepList steps = new StepList();
    for (int first = 0; first < entries.size(); first += ENTRIES_A_STEP) {
      final int end = Math.min(entries.size(), first + ENTRIES_A_STEP);
      final List<T> some = entries.subList(first, end);
      steps.then(
          () -> {
            final CompletableFuture<Void> before = writing;
            writing = settled(write.apply(some)).thenCompose(done -> before);
            steps.pause();
          });
    }
    return steps.runPatiently(conductor);
  }

  /** New identities alone, such as those of a name that was looked up, deny nothing. */
  private boolean mayRevoke() {
    return !update.endpoints().isEmpty()
        || !update.cleanups().isEmpty()
        || !update.outside().removed().isEmpty();
  }

  /** Entries of identities that no address has: no verdict depends on them. */
  private CompletableFuture<?> bridge() {
    unused = update.outside().newIdentities();
    return ask(new StepList(), update.bridges(), engine.requests().revision())
        .then(() -> unused = Set.of())
        .runPatiently(conductor);
  }

  private CompletableFuture<?> allAsked() {
    if (asked.isEmpty()) {
      return writing;
    }
    final Stream<CompletableFuture<?>> policies = asked.stream().map(answer -> answer);
    return CompletableFuture.allOf(
        Stream.concat(policies, Stream.of(writing)).toArray(CompletableFuture<?>[]::new));
  }

  /** Sets ready endpoints whose maps change to regenerating, unless an operation runs on them. */
  private CompletableFuture<?> begin() {
    final StepList steps = new StepList();
    return steps
        .each(update.failures()::entrySet, this::refuse)
        .each(update::endpoints, change -> announce(change, steps))
        .runPatiently(conductor);
  }

  private void refuse(Map.Entry<Integer, Refusal> overflow) {
    final Endpoint endpoint = registry.find(overflow.getKey());
    if (endpoint != null) {
      failed.put(endpoint, overflow.getValue());
    }
  }

  private void announce(EndpointPolicyChange change, StepList steps) {
    final Endpoint endpoint = registry.find(change.endpointId());
    if (endpoint != null
        && endpoint.is(EndpointState.READY)
        && !endpoint.isBusy()
        && !change.diff().isEmpty()) {
      journal.note(endpoint, EndpointState.WAITING_TO_REGENERATE, "policy changed");
      journal.note(
          endpoint,
          EndpointState.REGENERATING,
          "%d policy entries to write, %d to delete"
              .formatted(change.diff().upserts().size(), change.diff().deletes().size()));
      building.add(endpoint);
      steps.charge();
    }
  }

  private CompletableFuture<Void> settled(CompletableFuture<Void> written) {
    return written.handle(
        (done, failure) -> {
          if (failure != null) {
            ipcacheFailure = Answers.named("ipcache", failure);
          }
          return null;
        });
  }

  private void write(StepSequence steps, List<EndpointPolicyChange> changes) {
    if (!changes.isEmpty()) {
      steps
          .thenAwait(this::allAsked)
          .thenAwait(
              () ->
                  ask(collect(new StepList()), changes, update.revision()).runPatiently(conductor))
          .thenAwait(this::allAsked);
    }
  }

  /**
   * Adds the steps that prepare what maps are asked for, and the one that asks. Requests are judged
   * by what policy maps are to say from then on.
   */
  private StepList ask(StepList steps, List<EndpointPolicyChange> changes, long revision) {
    final Asking asking = new Asking();
    return steps
        .each(() -> changes, asking::prepare)
        .then(
            () -> {
              engine.publish(revision, changes);
              asking.calls.forEach(call -> asked.add(apply(call)));
            });
  }

  /** Calls that change policy maps, each of them one for an endpoint. */
  private final class Asking {
    private final List<List<PolicyChange>> calls = new ArrayList<>();
    private final IntHashSet inLast = new IntHashSet();

    void prepare(EndpointPolicyChange change) {
      final Endpoint endpoint = registry.find(change.endpointId());
      if (endpoint != null && endpoint.isLive()) {
        endpoint.resolved(change.policy());
        final PolicyDelta delta = change.diff();
        if (hasMap(endpoint) && !delta.isEmpty()) {
          final int identity = change.policy().identity();
          add(new PolicyChange(endpoint.id(), identity, delta, delta.isOnly(unused)));
        }
      }
    }

    private void add(PolicyChange change) {
      if (!inLast.add(change.endpointId()) || calls.isEmpty()) { // a second one follows the first
        calls.add(new ArrayList<>());
        inLast.clear();
        inLast.add(change.endpointId());
      }
      calls.getLast().add(change);
    }
  }

  /** A call that fails as a whole is a failure of each endpoint. */
  private CompletableFuture<Map<Integer, RuntimeException>> apply(List<PolicyChange> changes) {
    return policyMaps
        .apply(changes)
        .exceptionally(
            failure -> {
              final Map<Integer, RuntimeException> all = new HashMap<>();
              changes.forEach(change -> all.put(change.endpointId(), Answers.unwrapped(failure)));
              return all;
            });
  }

  /** Adds the steps that take the answers to what was asked for. */
  private StepList collect(StepList steps) {
    return steps.each(this::refusals, this::refused);
  }

  private List<Map.Entry<Integer, RuntimeException>> refusals() {
    final List<Map.Entry<Integer, RuntimeException>> all = new ArrayList<>();
    asked.forEach(answer -> all.addAll(answer.join().entrySet()));
    asked.clear();
    return all;
  }

  private void refused(Map.Entry<Integer, RuntimeException> refusal) {
    final int id = refusal.getKey();
    final Endpoint endpoint = registry.find(id);
    if (endpoint != null) {
      failed.put(endpoint, Answers.named("endpoint " + id + ": policy map", refusal.getValue()));
    }
  }

  private CompletableFuture<?> end() {
    final StepList steps = new StepList();
    return collect(steps)
        .then(() -> engine.publish(update.revision(), List.of()))
        .each(update::bridges, this::realize)
        .each(update::endpoints, this::realize)
        .each(update::cleanups, this::realize)
        .each(
            update.failures()::keySet,
            id -> {
              keepWanted(id);
              steps.pause(); // it resolves the whole policy
            })
        .each(registry::all, endpoint -> conclude(endpoint, steps))
        .then(this::requireIpcache)
        .runPatiently(conductor);
  }

  private void realize(EndpointPolicyChange change) {
    final Endpoint endpoint = registry.find(change.endpointId());
    if (endpoint != null && hasMap(endpoint)) {
      endpoint.realized(change.policy(), !change.diff().isEmpty());
      changed.add(endpoint);
    }
  }

  /** What becomes of one of the endpoints of the node, which may be gone since the last step. */
  private void conclude(Endpoint endpoint, StepList steps) {
    final RuntimeException failure = failed.get(endpoint);
    if (failure != null) {
      fail(endpoint, failure);
      steps.charge();
    }
    final boolean isBehind =
        failure == null && hasMap(endpoint) && endpoint.realizedRevision() < update.revision();
    if (isBehind) {
      endpoint.realizedRevision(update.revision());
    }
    if (isBehind || changed.contains(endpoint)) {
      steps.charge();
    }
    if (failure == null && building.contains(endpoint) && endpoint.is(EndpointState.REGENERATING)) {
      journal.succeeded(endpoint, "policy revision " + update.revision());
    } else if (isBehind || changed.contains(endpoint)) {
      registry.publish(endpoint);
    }
  }

  private void requireIpcache() {
    if (ipcacheFailure != null) {
      throw ipcacheFailure;
    }
  }

  /** What its map cannot hold stays what the endpoint is to enforce. */
  private void keepWanted(int id) {
    final Endpoint endpoint = registry.find(id);
    if (endpoint != null && endpoint.identity() != null) {
      endpoint.resolved(engine.wanted(endpoint.identity(), endpoint.record().namedPorts()));
    }
  }

  /**
   * Sets the endpoint to not-ready, unless an operation runs on it: the operation synchronizes the
   * map.
   */
  private void fail(Endpoint endpoint, RuntimeException failure) {
    if (endpoint.isBusy() && !building.contains(endpoint)) {
      return;
    }
    if (endpoint.is(EndpointState.READY)) {
      journal.note(endpoint, EndpointState.WAITING_TO_REGENERATE, "policy changed");
      journal.note(endpoint, EndpointState.REGENERATING, "policy cannot be applied");
    }
    if (endpoint.is(EndpointState.REGENERATING)) {
      journal.failed(endpoint, failure);
    }
  }
}
