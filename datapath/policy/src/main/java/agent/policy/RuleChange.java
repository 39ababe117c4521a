package agent.policy;

import agent.conductor.StepList;
import agent.policy.PolicyUpdate.EndpointPolicyChange;
import agent.policy.repository.CurrentRules;
import agent.policy.repository.PolicyRepository;
import agent.policy.resolve.PreparedPolicy;
import agent.policy.rule.PeerSelector;
import agent.policy.rule.Rule;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.function.Function;

/**
 * One change from the present rules to others, in bounded steps: takes references for the new
 * rules, resolves the endpoints that they affect, stores the rules, puts them in place of the
 * present ones, and gives back the references of those that go. Where a step before the store has
 * them is refused, or the store fails, the further steps take everything back. For the engine's
 * thread, under its lock; between two steps other threads may add identities.
 */
final class RuleChange {
  /** The parts of the engine. */
  record Parts(
      PolicyContext context,
      CurrentRules rules,
      RuleReferences references,
      PolicySubjects subjects,
      SubjectChanges changes,
      AffectedSignal affected,
      HeldEvents events) {}

  private final Parts engine;
  private final Function<Runnable, CompletableFuture<Void>> beside;
  private final PolicyRepository before;
  private final PolicyRepository after;
  private final List<Rule> removed;
  private final List<Rule> added;
  private final RuleReferences.Taking taking;
  private final Set<Integer> markedBefore;
  private final StepList steps = new StepList();

  /** Endpoints whose policy by the present rules is to say something of new CIDRs. */
  private final Queue<Integer> unbridged = new ArrayDeque<>();

  /** Endpoints that are to be resolved before the rules are stored. */
  private final Queue<Integer> unresolved = new ArrayDeque<>();

  private final Map<Integer, PreparedPolicy> prepared = new ConcurrentSkipListMap<>();
  private final Map<Integer, PreparedPolicy> bridged = new ConcurrentSkipListMap<>();
  private final List<EndpointPolicyChange> bridges = new ArrayList<>();
  private CompletableFuture<Void> awaited;
  private RuntimeException refusal;
  private SubjectChanges.Settlement settlement;
  private PolicyUpdate update;

  /**
   * Begins a change.
   *
   * @param after other rules than the present ones
   */
  RuleChange(Parts engine, PolicyRepository after) {
    this(engine, after, engine.context().beside());
  }

  /** Begins a change whose policies are resolved within its steps. */
  static RuleChange resolvedHere(Parts engine, PolicyRepository after) {
    return new RuleChange(engine, after, PolicyContext::atOnce);
  }

  private RuleChange(
      Parts engine, PolicyRepository after, Function<Runnable, CompletableFuture<Void>> beside) {
    this.engine = engine;
    this.beside = beside;
    this.after = after;
    before = engine.rules().now();
    removed = after.missing(before);
    added = before.missing(after);
    markedBefore = engine.changes().marked();
    taking = engine.references().taking(added);
    engine.rules().confirm();
    taking.addTo(steps, Map.of());
    steps
        .then(this::findAffected)
        .until(this::bridgeNext)
        .until(this::resolveNext)
        .then(this::save);
    addEnforcement();
  }

  /** Adds the steps after the commit point, none of which fails. */
  private void addEnforcement() {
    steps
        .then(
            () -> {
              engine.changes().mark(engine.subjects().selectedBy(added));
              engine.changes().mark(engine.subjects().selectedBy(removed));
              engine.rules().replace(after);
            })
        .each(
            bridged::entrySet,
            entry -> bridges.add(engine.subjects().change(entry.getKey(), entry.getValue())));
    engine.references().drop(removed, steps);
    steps.then(this::beginSettlement).until(() -> settlement.isComplete(after, prepared));
    steps.then(() -> update = settlement.end(after).after(bridges));
    engine.references().release(removed, steps);
    steps
        .then(
            () -> {
              engine.affected().raise(engine.references().isOutdated());
              beginSettlement();
            })
        .until(() -> settlement.isComplete(after, Map.of()))
        .then(() -> update = update.then(settlement.end(after)));
  }

  private void beginSettlement() {
    settlement = engine.changes().settlement();
  }

  /** Carries out one step; returns whether it was the last one. */
  boolean step() {
    try {
      endAwaited();
      return steps.run();
    } catch (RuntimeException failure) {
      if (refusal != null || engine.rules().now() == after) {
        throw failure;
      }
      refusal = failure;
      engine.events().end();
      steps.clear();
      taking.takeBack(steps);
      return false;
    }
  }

  private void endAwaited() {
    final CompletableFuture<Void> ended = awaited;
    awaited = null;
    engine.events().endBehind(ended);
  }

  /** Returns what the next step waits for; null for nothing. */
  CompletableFuture<Void> awaited() {
    return awaited;
  }

  /**
   * Returns the changes to carry out, after the last step.
   *
   * @throws RuntimeException why everything was taken back
   */
  PolicyUpdate update() {
    if (refusal != null) {
      throw refusal;
    }
    return update;
  }

  /** Follows that selectors select other identities than before. */
  void changed(Set<PeerSelector> selectors) {
    prepared
        .values()
        .removeIf(policy -> !Collections.disjoint(policy.policy().selectors(), selectors));
  }

  private void findAffected() {
    final Set<Integer> affected = engine.changes().marked();
    affected.removeAll(markedBefore);
    unbridged.addAll(affected);
    affected.addAll(engine.subjects().selectedBy(added));
    unresolved.addAll(affected);
  }

  private boolean bridgeNext() {
    final Integer endpoint = unbridged.poll();
    if (endpoint != null) {
      resolve(() -> engine.changes().bridge(endpoint, before, bridged));
    }
    return unbridged.isEmpty();
  }

  private boolean resolveNext() {
    final Integer endpoint = unresolved.poll();
    if (endpoint != null && engine.subjects().get(endpoint) != null) {
      resolve(
          () ->
              prepared.put(
                  endpoint, engine.changes().prepare(endpoint, after, bridged.get(endpoint))));
    }
    return unresolved.isEmpty();
  }

  /** What policies are resolved from stays as it is meanwhile. */
  private void resolve(Runnable work) {
    steps.pause();
    engine.events().begin();
    awaited = beside.apply(work);
  }

  /** What is stored is found out beside: it takes as long as the write. */
  private void save() {
    steps.pause();
    final PolicyContext context = engine.context();
    awaited =
        context.storing().apply(() -> context.store().save(engine.references().stateOf(after)));
  }
}
