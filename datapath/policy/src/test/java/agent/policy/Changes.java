package agent.policy;

import agent.policy.repository.Replacement;
import agent.policy.resolve.EnforcementMode;
import agent.policy.spec.RuleSpec;
import java.util.List;
import java.util.Optional;

/** Changes of rules that are committed alone, and carried out at once. */
public final class Changes {
  private Changes() {}

  /** Publishes all of an update to the judges of requests, and returns it. */
  static PolicyUpdate publish(PolicyEngine engine, PolicyUpdate update) {
    for (final var part : List.of(update.bridges(), update.endpoints(), update.cleanups())) {
      engine.publish(update.revision(), part);
    }
    return update;
  }

  public static PolicyUpdate add(
      PolicyEngine engine, List<RuleSpec> rules, boolean replaceSameLabels) {
    return commit(engine, PolicyChange.add(rules, Replacement.of(replaceSameLabels, List.of())));
  }

  public static PolicyUpdate delete(PolicyEngine engine, List<String> labels) {
    return commit(engine, PolicyChange.delete(labels));
  }

  /** Returns the writes of a change; throws where it is refused. */
  static PolicyUpdate commit(PolicyEngine engine, PolicyChange change) {
    final PolicyCommit commit = engine.commit(List.of(change)).getFirst();
    if (commit.results().getFirst().refusal() != null) {
      throw commit.results().getFirst().refusal();
    }
    return publish(engine, commit.update());
  }

  /** Changes when policy is enforced; returns the writes. */
  static PolicyUpdate enforce(PolicyEngine engine, EnforcementMode mode) {
    return engine.beginEnforcing(mode).complete().getFirst().update();
  }

  /** Undoes the last commit; empty where that cannot be done. */
  static Optional<PolicyUpdate> undo(PolicyEngine engine, long revision) {
    return engine
        .beginUndo(revision)
        .map(
            undoing -> {
              final PolicyCommit commit = undoing.complete().getFirst();
              if (commit.results().getFirst().refusal() != null) {
                throw commit.results().getFirst().refusal();
              }
              return commit.update();
            });
  }
}
