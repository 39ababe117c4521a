package agent.policy;

import agent.policy.read.RuleReader;
import agent.policy.repository.PolicyLimits;
import agent.policy.repository.PolicyRepository;
import agent.policy.repository.Replacement;
import agent.policy.rule.Rule;
import agent.policy.spec.RuleSpec;
import agent.types.EntrySource;
import agent.types.Refusal;
import java.util.List;

/**
 * One change of the rules that a caller asks for. It is checked when it is created, so that any
 * thread can do this, and is applied to the rules as they are then. Immutable.
 */
public final class PolicyChange {
  private final String text;
  private final boolean isWhole;
  private final Step step;

  /** Makes the next rules of the present ones. */
  @FunctionalInterface
  private interface Step {
    PolicyRepository apply(PolicyRepository before, PolicyLimits limits);
  }

  private PolicyChange(String text, boolean isWhole, Step step) {
    this.text = text;
    this.isWhole = isWhole;
    this.step = step;
  }

  /** Adds rules of the API, as {@link #add(EntrySource, List, Replacement)} does. */
  public static PolicyChange add(List<RuleSpec> specs, Replacement replacement) {
    return add(EntrySource.API, specs, replacement);
  }

  /**
   * Adds rules, all or none. A rule that says the same as one that the source has is not held
   * twice.
   *
   * @param source who asks
   * @param specs the rules; refusals name {@code [index]} and the path in it
   * @param replacement the rules of the source that are removed in the same step
   * @return the change
   * @throws Refusal INVALID for a bad rule, CONFLICT for one of another source
   */
  public static PolicyChange add(
      EntrySource source, List<RuleSpec> specs, Replacement replacement) {
    final List<Rule> added = RuleReader.read(specs);
    for (int i = 0; i < added.size(); i++) {
      if (!added.get(i).source().equals(source)) {
        throw Refusal.conflict(
            "[" + i + "].source",
            "the rule belongs to source '%s', not to '%s'"
                .formatted(added.get(i).source(), source));
      }
    }
    return new PolicyChange(
        "import of " + added.size() + " rules by " + source,
        replacement.sameLabels() && source.equals(EntrySource.API),
        (before, limits) -> before.with(source, added, replacement, limits));
  }

  /** Removes rules of the API, as {@link #delete(EntrySource, List)} does. */
  public static PolicyChange delete(List<String> labels) {
    return delete(EntrySource.API, labels);
  }

  /**
   * Removes the rules that have all of these labels; it is refused where one of them is of another
   * source.
   *
   * @param source who asks
   * @param labels {@code [source:]key[=value]}, without a source any; none for all rules of the
   *     source
   * @return the change
   */
  public static PolicyChange delete(EntrySource source, List<String> labels) {
    final List<String> wanted = List.copyOf(labels);
    return new PolicyChange(
        "delete of " + wanted + " by " + source,
        wanted.isEmpty() && source.equals(EntrySource.API),
        (before, limits) -> before.without(before.ofSource(source, wanted)));
  }

  /** Returns the change back to rules that were in force before the present ones. */
  static PolicyChange backTo(PolicyRepository rules) {
    return new PolicyChange(
        "return to revision " + rules.revision(), false, (before, limits) -> rules.after(before));
  }

  /**
   * Returns whether it says what the rules are in place of those that cannot be read: the API
   * removes all rules, or replaces rules.
   */
  boolean isWhole() {
    return isWhole;
  }

  /**
   * Returns the rules after the change: the same object where nothing changes.
   *
   * @throws Refusal NOT_FOUND where no rule has the labels, CONFLICT where one of another source
   *     has them, OVER_LIMIT
   */
  PolicyRepository apply(PolicyRepository before, PolicyLimits limits) {
    return step.apply(before, limits);
  }

  /** Returns the rules after a change that says what they are; always of another revision. */
  PolicyRepository applyInPlace(PolicyRepository before, PolicyLimits limits) {
    final PolicyRepository after = apply(before, limits);
    return after == before ? new PolicyRepository(before.revision() + 1, List.of()) : after;
  }

  /** Returns what is changed, for the log. */
  @Override
  public String toString() {
    return text;
  }
}
