package agent.policy;

import agent.policy.spec.RuleSpec;

/** Checks a rule without a repository. */
public final class RuleCheck {
  private RuleCheck() {}

  /**
   * Checks a rule as its import does.
   *
   * @param index of the rule in its document, at which the path in the message starts
   * @throws agent.types.Refusal naming the path and what is wrong there
   */
  public static void check(int index, RuleSpec rule) {
    RuleReader.read(index, rule);
  }
}
