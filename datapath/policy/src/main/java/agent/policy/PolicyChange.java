package agent.policy;

import agent.policy.spec.RuleSpec;
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

  /**
   * Adds rules, all or none. A rule that says the same as one that is held is not held twice.
   *
   * @param specs the rules; refusals name {@code [index]} and the path in it
   * @param replacement the rules that are removed in the same step
   * @return the change
   * @throws agent.types.Refusal INVALID for a bad rule
   */
  public static PolicyChange add(List<RuleSpec> specs, Replacement replacement) {
    final List<Rule> added = RuleReader.read(specs);
    return new PolicyChange(
        "import of " + added.size() + " rules",
        replacement.sameLabels(),
        (before, limits) -> before.with(added, replacement, limits));
  }

  /**
   * Removes the rules that have all of these labels.
   *
   * @param labels {@code [source:]key[=value]}, without a source any; at least one
   * @return the change
   */
  public static PolicyChange delete(List<String> labels) {
    final List<String> wanted = List.copyOf(labels);
    return new PolicyChange(
        "delete of " + wanted,
        wanted.isEmpty(),
        (before, limits) -> before.without(before.withLabels(wanted)));
  }

  /** Returns the change back to rules that were in force before the present ones. */
  static PolicyChange backTo(PolicyRepository rules) {
    return new PolicyChange(
        "return to revision " + rules.revision(), false, (before, limits) -> rules.after(before));
  }

  /**
   * Returns whether it says what the rules are in place of those that cannot be read: it removes
   * all rules, or replaces rules.
   */
  boolean isWhole() {
    return isWhole;
  }

  /**
   * Returns the rules after the change: the same object where nothing changes.
   *
   * @throws agent.types.Refusal NOT_FOUND where no rule has the labels, OVER_LIMIT
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
