package agent.policy;

import agent.conductor.Work.Progress;
import agent.policy.repository.PolicyRepository;
import agent.policy.rule.PeerSelector;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/**
 * A change of the rules that stores them in place of those that cannot be read, and then ends their
 * hold, in bounded steps. Where it is refused or cannot be stored, a step throws, and the hold
 * stands. For the engine's thread, under its lock.
 */
final class HeldRulesCommit implements EngineCommit {
  private final RuleChange.Parts engine;
  private final RulesHold hold;
  private final PolicyRepository before;
  private final PolicyRepository after;
  private final RuleChange change;
  private PolicyCommit commit;

  HeldRulesCommit(RuleChange.Parts engine, RulesHold hold, PolicyChange giving) {
    this.engine = engine;
    this.hold = hold;
    before = engine.rules().now();
    after = giving.applyInPlace(before, engine.context().limits());
    engine.changes().mark(engine.subjects().ids());
    change = RuleChange.resolvedHere(engine, after);
  }

  /** Policies are resolved within the steps, by the rules that are about to be stored. */
  @Override
  public Progress step() {
    final CompletableFuture<Void> awaited = awaited();
    if (awaited != null && !awaited.isDone()) {
      return Progress.WAITING;
    }
    if (!hold.lifted(change::step)) {
      return Progress.WORKED;
    }
    final PolicyUpdate update = change.update();
    engine.rules().confirm();
    hold.end().forEach(engine.context().cidrIdentities()::release);
    final var result = new PolicyCommit.Result(after.snapshot(), null);
    final PolicyUpdate settled = engine.changes().settle(after);
    commit = PolicyCommit.of(List.of(result), update.then(settled), before, after);
    return Progress.DONE;
  }

  @Override
  public CompletableFuture<Void> awaited() {
    return change.awaited();
  }

  @Override
  public List<PolicyCommit> commits() {
    return List.of(commit);
  }

  @Override
  public void changed(Set<PeerSelector> selectors) {
    change.changed(selectors);
  }
}
