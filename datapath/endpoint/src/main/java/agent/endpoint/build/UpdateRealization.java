package agent.endpoint.build;

import agent.conductor.ConductorAgent;
import agent.conductor.StepSequence;
import agent.conductor.Work;
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
import java.util.ArrayDeque;
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

/**
 * Realizes one policy update on all endpoints, in five steps: what the rules before say of the
 * identities of new CIDRs, ipcache entries of new CIDRs, what policy maps gain and lose, ipcache
 * entries of removed CIDRs, and policy map entries of their identities. With this order no packet
 * has an identity that the policy maps do not know, no packet is dropped that is allowed before and
 * after the update, and none passes that neither allows.
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
  private final Deque<CompletableFuture<Map<Integer, RuntimeException>>> asked = new ArrayDeque<>();

  /** Identities that no address has while the change that is asked for is written. */
  private final Set<Integer> unused = new HashSet<>();

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
    steps.then(this::begin);
    if (!update.bridges().isEmpty()) {
      steps.then(this::bridge);
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
    return steps.then(this::end);
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
    if (entries.size() <= ENTRIES_A_STEP) {
      write(entries, write);
      return null;
    }
    final CompletableFuture<Void> asked = new CompletableFuture<>();
    conductor.beginPatient(new IpcacheWork<>(entries, write, asked));
    return asked;
  }

  private <T> void write(List<T> entries, Function<List<T>, CompletableFuture<Void>> write) {
    final CompletableFuture<Void> before = writing;
    writing = settled(write.apply(entries)).thenCompose(done -> before);
  }

  private final class IpcacheWork<T> implements Work {
    private final List<T> entries;
    private final Function<List<T>, CompletableFuture<Void>> write;
    private final CompletableFuture<Void> asked;
    private int next;

    IpcacheWork(
        List<T> entries,
        Function<List<T>, CompletableFuture<Void>> write,
        CompletableFuture<Void> asked) {
      this.entries = entries;
      this.write = write;
      this.asked = asked;
    }

    @Override
    public Progress step() {
      final int end = Math.min(entries.size(), next + ENTRIES_A_STEP);
      write(entries.subList(next, end), write);
      next = end;
      if (end < entries.size()) {
        return Progress.WORKED;
      }
      asked.complete(null);
      return Progress.DONE;
    }

    @Override
    public void failed(RuntimeException failure) {
      asked.completeExceptionally(failure);
    }
  }

  /** New identities alone, such as those of a name that was looked up, deny nothing. */
  private boolean mayRevoke() {
    return !update.endpoints().isEmpty()
        || !update.cleanups().isEmpty()
        || !update.outside().removed().isEmpty();
  }

  /** Entries of identities that no address has: no verdict depends on them. */
  private void bridge() {
    unused.addAll(update.outside().newIdentities());
    ask(update.bridges(), engine.requests().revision());
    unused.clear();
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
  private void begin() {
    update
        .failures()
        .forEach(
            (id, refusal) -> {
              final Endpoint endpoint = registry.find(id);
              if (endpoint != null) {
                failed.put(endpoint, refusal);
              }
            });
    for (final EndpointPolicyChange change : update.endpoints()) {
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
      }
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
          .then(
              () -> {
                collect();
                ask(changes, update.revision());
              })
          .thenAwait(this::allAsked);
    }
  }

  /** Requests are judged by what policy maps are to say from now on. */
  private void ask(List<EndpointPolicyChange> changes, long revision) {
    engine.publish(revision, changes);
    Map<Integer, PolicyChange> next = new LinkedHashMap<>();
    for (final EndpointPolicyChange change : changes) {
      final Endpoint endpoint = registry.find(change.endpointId());
      if (endpoint != null && endpoint.isLive()) {
        endpoint.resolved(change.policy());
        final PolicyDelta delta = change.diff();
        if (endpoint.isPolicyMapTrusted() && !delta.isEmpty()) {
          final int identity = change.policy().identity();
          final PolicyChange one =
              new PolicyChange(endpoint.id(), identity, delta, delta.isOnly(unused));
          if (next.putIfAbsent(endpoint.id(), one) != null) { // a second change follows the first
            asked.add(apply(List.copyOf(next.values())));
            next = new LinkedHashMap<>(Map.of(endpoint.id(), one));
          }
        }
      }
    }
    if (!next.isEmpty()) {
      asked.add(apply(List.copyOf(next.values())));
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

  private void collect() {
    while (!asked.isEmpty()) {
      asked
          .poll()
          .join()
          .forEach(
              (id, failure) -> {
                final Endpoint endpoint = registry.find(id);
                if (endpoint != null) {
                  endpoint.distrustPolicyMap();
                  failed.put(endpoint, Answers.named("endpoint " + id + ": policy map", failure));
                }
              });
    }
  }

  private void end() {
    collect();
    engine.publish(update.revision(), List.of());
    final Set<Endpoint> changed = new HashSet<>();
    for (final List<EndpointPolicyChange> list :
        List.of(update.bridges(), update.endpoints(), update.cleanups())) {
      for (final EndpointPolicyChange change : list) {
        final Endpoint endpoint = registry.find(change.endpointId());
        if (endpoint != null && endpoint.isPolicyMapTrusted()) {
          endpoint.realized(change.policy(), !change.diff().isEmpty());
          changed.add(endpoint);
        }
      }
    }
    update.failures().keySet().forEach(this::keepWanted);
    failed.forEach(this::fail);
    building.removeAll(failed.keySet());
    building.removeIf(endpoint -> !endpoint.is(EndpointState.REGENERATING));
    for (final Endpoint endpoint : building) {
      journal.succeeded(endpoint, "policy revision " + update.revision());
    }
    for (final Endpoint endpoint : registry.all()) {
      final boolean isBehind = endpoint.realizedRevision() < update.revision();
      if (endpoint.isPolicyMapTrusted() && !failed.containsKey(endpoint) && isBehind) {
        endpoint.realizedRevision(update.revision());
        registry.publish(endpoint);
      } else if (changed.contains(endpoint)) {
        registry.publish(endpoint);
      }
    }
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
   * untrusted map.
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
