package agent.policy;

import agent.conductor.StepList;
import agent.conductor.Work.Progress;
import agent.policy.resolve.EnforcementMode;
import agent.policy.resolve.PreparedPolicy;
import agent.policy.rule.PeerSelector;
import java.util.ArrayDeque;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentSkipListMap;

/**
 * A change of when policy is enforced, in bounded steps: resolves the endpoints one by one as they
 * are to be, and then changes the mode. Where the policy map of one would overflow, a step throws
 * the refusal, and nothing has changed. For the engine's thread, under its lock; between two steps
 * other threads may add identities.
 */
final class EnforcementChange implements EngineCommit {
  private final RuleChange.Parts engine;
  private final EnforcedResolution resolution;
  private final EnforcementMode next;
  private final StepList steps = new StepList();
  private final Queue<Integer> unresolved;
  private final Map<Integer, PreparedPolicy> prepared = new ConcurrentSkipListMap<>();
  private CompletableFuture<Void> awaited;
  private SubjectChanges.Settlement settlement;
  private List<PolicyCommit> commits = List.of();

  EnforcementChange(RuleChange.Parts engine, EnforcedResolution resolution, EnforcementMode next) {
    this.engine = engine;
    this.resolution = resolution;
    this.next = next;
    unresolved = new ArrayDeque<>(engine.subjects().ids());
    steps
        .until(this::resolveNext)
        .then(this::enforce)
        .until(() -> settlement.isComplete(engine.rules().now(), prepared))
        .then(this::end);
  }

  private boolean resolveNext() {
    final Integer endpoint = unresolved.poll();
    if (endpoint != null && engine.subjects().get(endpoint) != null) {
      steps.pause();
      engine.events().begin(); // what policies are resolved from stays as it is meanwhile
      awaited = engine.context().beside().apply(() -> prepare(endpoint));
    }
    return unresolved.isEmpty();
  }

  private void prepare(int endpoint) {
    prepared.put(
        endpoint, engine.changes().prepare(endpoint, engine.rules().now(), resolution.in(next)));
  }

  private void enforce() {
    resolution.enforce(next);
    engine.changes().mark(engine.subjects().ids());
    settlement = engine.changes().settlement();
  }

  private void end() {
    final PolicyUpdate update = settlement.end(engine.rules().now()).ofSameRules();
    commits =
        List.of(PolicyCommit.of(List.of(), update, engine.rules().now(), engine.rules().now()));
  }

  @Override
  public Progress step() {
    if (awaited != null && !awaited.isDone()) {
      return Progress.WAITING;
    }
    endAwaited();
    return steps.run() ? Progress.DONE : Progress.WORKED;
  }

  private void endAwaited() {
    final CompletableFuture<Void> ended = awaited;
    awaited = null;
    engine.events().endBehind(ended);
  }

  @Override
  public CompletableFuture<Void> awaited() {
    return awaited;
  }

  @Override
  public void changed(Set<PeerSelector> selectors) {
    prepared
        .values()
        .removeIf(policy -> !Collections.disjoint(policy.policy().selectors(), selectors));
  }

  @Override
  public List<PolicyCommit> commits() {
    return commits;
  }
}
