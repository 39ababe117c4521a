package agent.policy;

import agent.conductor.Work.Progress;
import agent.policy.repository.PolicyRepository;
import agent.policy.rule.PeerSelector;
import agent.types.OperationException;
import agent.types.Refusal;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/**
 * Changes of the rules that are stored and resolved together, in bounded steps; where the rules of
 * all cannot be enforced, parts of them are committed one after the other. For the engine's thread,
 * under its lock.
 */
final class RuleCommit implements EngineCommit {
  private final RuleChange.Parts engine;
  private final Deque<List<PolicyChange>> parts = new ArrayDeque<>();
  private final List<PolicyCommit> commits = new ArrayList<>();
  private Part part;

  /** Changes that are tried together. */
  private static final class Part {
    private final List<PolicyChange> changes;
    private final PolicyRepository before;
    private final List<PolicyCommit.Result> results = new ArrayList<>();
    private PolicyRepository after;
    private RuleChange change;
    private RuntimeException refusal;
    private SubjectChanges.Settlement settlement;

    Part(List<PolicyChange> changes, PolicyRepository before) {
      this.changes = changes;
      this.before = before;
      after = before;
    }
  }

  RuleCommit(RuleChange.Parts engine, List<PolicyChange> changes) {
    this.engine = engine;
    parts.add(changes);
  }

  @Override
  public List<PolicyCommit> commits() {
    return commits;
  }

  @Override
  public CompletableFuture<Void> awaited() {
    return part == null || part.change == null ? null : part.change.awaited();
  }

  @Override
  public void changed(Set<PeerSelector> selectors) {
    if (part != null && part.change != null) {
      part.change.changed(selectors);
    }
  }

  @Override
  public Progress step() {
    if (part == null) {
      part = new Part(parts.poll(), engine.rules().now());
    }
    final CompletableFuture<Void> awaited = awaited();
    if (awaited != null && !awaited.isDone()) {
      return Progress.WAITING;
    }
    if (!isComplete()) {
      return Progress.WORKED;
    }
    part = null;
    return parts.isEmpty() ? Progress.DONE : Progress.WORKED;
  }

  private boolean isComplete() {
    if (part.settlement != null) {
      return isSettled();
    }
    if (part.change == null) {
      if (part.results.size() < part.changes.size()) {
        apply(part.changes.get(part.results.size()));
      } else if (part.after == part.before) {
        engine.rules().confirm();
        part.settlement = engine.changes().settlement();
      } else {
        part.change = new RuleChange(engine, part.after);
        return part.change.step() && isEnded();
      }
      return false;
    }
    return part.change.step() && isEnded();
  }

  private void apply(PolicyChange change) {
    try {
      part.after = change.apply(part.after, engine.context().limits());
      part.results.add(new PolicyCommit.Result(part.after.snapshot(), null));
    } catch (Refusal refusal) {
      part.results.add(new PolicyCommit.Result(null, refusal));
    }
  }

  private boolean isEnded() {
    try {
      final PolicyUpdate update = part.change.update();
      commits.add(PolicyCommit.of(part.results, update, part.before, part.after));
      return true;
    } catch (Refusal refusal) {
      final int half = part.changes.size() / 2;
      if (half > 0) {
        parts.addFirst(part.changes.subList(half, part.changes.size()));
        parts.addFirst(part.changes.subList(0, half));
        return true;
      }
      part.refusal = refusal;
    } catch (OperationException failure) {
      part.refusal = failure;
    }
    part.change = null;
    part.settlement = engine.changes().settlement();
    return false;
  }

  /** Identities that were taken and given back may have affected endpoints. */
  private boolean isSettled() {
    final PolicyRepository now = engine.rules().now();
    if (!part.settlement.isComplete(now, Map.of())) {
      return false;
    }
    final PolicyUpdate update = part.settlement.end(now).ofSameRules();
    commits.add(
        part.refusal == null
            ? PolicyCommit.of(part.results, update, part.before, part.after)
            : PolicyCommit.refused(part.results, part.refusal, update));
    return true;
  }
}
