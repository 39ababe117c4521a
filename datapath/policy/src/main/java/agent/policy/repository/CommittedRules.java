package agent.policy.repository;

import agent.policy.rule.Rule;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * How the rules after a commit differ from those before it.
 *
 * @param revision the revision after it
 * @param size how many rules there are after it
 * @param added how many were added
 * @param removed how many were removed
 * @param labels the labels of all that were added or removed, in their order
 */
public record CommittedRules(long revision, int size, int added, int removed, Set<String> labels) {

  /** Returns the difference of two repositories. */
  public static CommittedRules of(PolicyRepository before, PolicyRepository after) {
    final List<Rule> added = before.missing(after);
    final List<Rule> removed = after.missing(before);
    final Set<String> labels = new TreeSet<>();
    added.forEach(rule -> labels.addAll(rule.labels().toStrings()));
    removed.forEach(rule -> labels.addAll(rule.labels().toStrings()));
    return new CommittedRules(
        after.revision(), after.rules().size(), added.size(), removed.size(), labels);
  }
}
