package agent.policy.read;

import agent.policy.spec.RuleSpec;
import java.util.List;

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

  /**
   * Returns what of a valid rule no request can match.
   *
   * @param index of the rule in its document, at which the path in each warning starts
   * @param keepsSlashes whether paths are judged with their escaped slashes; otherwise they are
   *     refused
   */
  public static List<String> warnings(int index, RuleSpec rule, boolean keepsSlashes) {
    return RequestWarnings.of(index, rule, keepsSlashes);
  }
}
