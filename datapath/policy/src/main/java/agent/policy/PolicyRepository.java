package agent.policy;

import agent.identity.LabelPattern;
import agent.identity.LabelSet;
import agent.policy.spec.RuleSpec;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;

/** The rules in the order in which they were added, and their revision. Immutable. */
final class PolicyRepository {
  private final long revision;
  private final List<Rule> rules;

  PolicyRepository(long revision, List<Rule> rules) {
    this.revision = revision;
    this.rules = List.copyOf(rules);
  }

  long revision() {
    return revision;
  }

  List<Rule> rules() {
    return rules;
  }

  /**
   * Returns the next revision: without some rules, compared by object identity, and with others.
   */
  PolicyRepository changed(Collection<Rule> removed, List<Rule> added) {
    final Set<Rule> gone = Collections.newSetFromMap(new IdentityHashMap<>());
    gone.addAll(removed);
    final List<Rule> after = new ArrayList<>(rules);
    after.removeIf(gone::contains);
    after.addAll(added);
    return new PolicyRepository(revision + 1, after);
  }

  /**
   * Returns the rules that have all of these labels; all rules where no labels are given.
   *
   * @throws Refusal NOT_FOUND where labels are given and no rule has them
   */
  List<Rule> withLabels(List<String> labels) {
    final List<LabelPattern> wanted = LabelPattern.parseAll("labels", labels);
    final List<Rule> found =
        rules.stream()
            .filter(rule -> wanted.stream().allMatch(label -> label.isMetBy(rule.labels())))
            .toList();
    if (found.isEmpty() && !wanted.isEmpty()) {
      throw Refusal.notFound("labels", "no rule has " + labels);
    }
    return found;
  }

  /**
   * Returns the rules whose labels equal those of one of the others; rules without labels equal
   * none.
   */
  List<Rule> sameLabels(List<Rule> others) {
    final List<LabelSet> sets = others.stream().map(Rule::labels).toList();
    return rules.stream()
        .filter(rule -> !rule.labels().isEmpty() && sets.contains(rule.labels()))
        .toList();
  }

  PolicySnapshot snapshot() {
    return snapshot(rules);
  }

  PolicySnapshot snapshot(List<Rule> some) {
    return new PolicySnapshot(revision, specs(some));
  }

  List<RuleSpec> specs(List<Rule> some) {
    return some.stream().map(Rule::spec).toList();
  }
}
