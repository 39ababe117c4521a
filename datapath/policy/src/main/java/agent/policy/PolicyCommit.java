package agent.policy;

import agent.policy.repository.CommittedRules;
import agent.policy.repository.PolicyRepository;
import agent.policy.repository.PolicySnapshot;
import java.util.List;
import java.util.function.Supplier;

/**
 * Changes that were stored together, and what is to be carried out for them.
 *
 * @param results one for each change, in their order
 * @param update the writes
 * @param isChanged whether the rules differ from those before
 * @param rules how they differ; it is found out when it is asked for
 */
public record PolicyCommit(
    List<Result> results, PolicyUpdate update, boolean isChanged, Supplier<CommittedRules> rules) {
  /**
   * The result of one change.
   *
   * @param rules all rules after it, null where it was refused
   * @param refusal why it was refused, null where it was not
   */
  public record Result(PolicySnapshot rules, RuntimeException refusal) {}

  static PolicyCommit of(
      List<Result> results, PolicyUpdate update, PolicyRepository before, PolicyRepository after) {
    return new PolicyCommit(
        results, update, after != before, () -> CommittedRules.of(before, after));
  }

  /** Returns a commit that changes no rules: what is not refused by itself fails for a reason. */
  static PolicyCommit refused(List<Result> results, RuntimeException reason, PolicyUpdate update) {
    final List<Result> all =
        results.stream()
            .map(result -> result.refusal() == null ? new Result(null, reason) : result)
            .toList();
    return new PolicyCommit(all, update, false, () -> null);
  }
}
