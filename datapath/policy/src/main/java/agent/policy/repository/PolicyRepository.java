package agent.policy.repository;

import agent.identity.LabelPattern;
import agent.identity.LabelSet;
import agent.policy.rule.Rule;
import agent.policy.rule.RuleCount;
import agent.policy.spec.RuleSpec;
import agent.types.EntrySource;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * The rules in the order in which they were added, and their revision, which rises by one with each
 * change. Immutable.
 */
public final class PolicyRepository {
  private final long revision;
  private final List<Rule> rules;
  private final RuleCount count;

  /** Creates a repository of these rules. */
  public PolicyRepository(long revision, List<Rule> rules) {
    this.revision = revision;
    this.rules = List.copyOf(rules);
    RuleCount sum = RuleCount.NONE;
    for (final Rule rule : this.rules) {
      sum = sum.plus(rule.count());
    }
    count = sum;
  }

  /** Returns the revision. */
  public long revision() {
    return revision;
  }

  /** Returns the rules in the order in which they were added. */
  public List<Rule> rules() {
    return rules;
  }

  /**
   * Returns the rules after an import, at the next revision; this object where nothing changes. A
   * rule that stays although it is replaced, because a new one says the same, keeps its place.
   *
   * @param source the source of the added rules, whose rules alone are replaced
   * @throws Refusal OVER_LIMIT where they exceed a limit
   */
  public PolicyRepository with(
      EntrySource source, List<Rule> added, Replacement replacement, PolicyLimits limits) {
    final Set<Rule> news = new LinkedHashSet<>(added);
    final Set<LabelSet> labels = new HashSet<>();
    if (replacement.sameLabels()) {
      added.forEach(rule -> labels.add(rule.labels()));
      labels.remove(LabelSet.EMPTY);
    }
    final Set<Rule> known = new HashSet<>();
    final List<Rule> after = new ArrayList<>(rules.size() + added.size());
    for (final Rule rule : rules) {
      final boolean isSaidAgain = news.contains(rule);
      final boolean isReplaced =
          rule.source().equals(source)
              && (labels.contains(rule.labels()) || replacement.isByLabels(rule));
      if (!isReplaced || isSaidAgain && !known.contains(rule)) {
        after.add(rule);
      }
      if (isSaidAgain) {
        known.add(rule);
      }
    }
    news.removeAll(known);
    if (news.isEmpty() && after.size() == rules.size()) {
      return this;
    }
    after.addAll(news);
    final PolicyRepository next = new PolicyRepository(revision + 1, after);
    limits.check(count, next.count);
    return next;
  }

  /** Returns the rules without some, at the next revision; this object where there are none. */
  public PolicyRepository without(Collection<Rule> removed) {
    if (removed.isEmpty()) {
      return this;
    }
    final List<Rule> after = new ArrayList<>(rules);
    after.removeIf(sameObjects(removed)::contains);
    return new PolicyRepository(revision + 1, after);
  }

  /** Returns these rules at the revision that follows another one. */
  public PolicyRepository after(PolicyRepository other) {
    return new PolicyRepository(other.revision + 1, rules);
  }

  /** Returns the rules that these are without, compared by object identity. */
  public List<Rule> missing(PolicyRepository others) {
    final Set<Rule> own = sameObjects(rules);
    return others.rules.stream().filter(rule -> !own.contains(rule)).toList();
  }

  private static Set<Rule> sameObjects(Collection<Rule> rules) {
    final Set<Rule> objects =
        Collections.newSetFromMap(new IdentityHashMap<>(Math.max(16, rules.size())));
    objects.addAll(rules);
    return objects;
  }

  /**
   * Returns the rules that have all of these labels; all rules where no labels are given.
   *
   * @throws Refusal NOT_FOUND where labels are given and no rule has them
   */
  public List<Rule> withLabels(List<String> labels) {
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
   * Returns the rules of a source that have all of these labels; all of its rules where no labels
   * are given.
   *
   * @throws Refusal NOT_FOUND where labels are given and no rule has them, CONFLICT where one of
   *     another source has them
   */
  public List<Rule> ofSource(EntrySource source, List<String> labels) {
    final List<Rule> own = new ArrayList<>();
    for (final Rule rule : withLabels(labels)) {
      if (!labels.isEmpty()) {
        rule.source()
            .requireOf(source, "labels", () -> "a rule with labels " + rule.labels().toStrings());
      }
      if (rule.source().equals(source)) {
        own.add(rule);
      }
    }
    return own;
  }

  /** Returns all rules as they were received. */
  public PolicySnapshot snapshot() {
    return new PolicySnapshot(revision, specs(rules), count.characters());
  }

  /** Returns some of the rules as they were received. */
  public PolicySnapshot snapshot(List<Rule> some) {
    final long characters = some.stream().mapToLong(rule -> rule.count().characters()).sum();
    return new PolicySnapshot(revision, specs(some), characters);
  }

  /** Returns rules as they were received. */
  public List<RuleSpec> specs(List<Rule> some) {
    return some.stream().map(Rule::spec).toList();
  }
}
