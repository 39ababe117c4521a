package agent.policy.repository;

import agent.policy.rule.RuleCount;
import agent.policy.spec.RuleSpec;
import java.util.List;

/**
 * Rules at a revision.
 *
 * @param revision the revision
 * @param rules the rules in the order in which they were added
 */
public record PolicySnapshot(long revision, List<RuleSpec> rules) {
  /** Returns how many characters all texts of the rules have, as a measure of their size. */
  public long characters() {
    long sum = 0;
    for (final RuleSpec rule : rules) {
      sum += RuleCount.of(rule).characters();
    }
    return sum;
  }
}
