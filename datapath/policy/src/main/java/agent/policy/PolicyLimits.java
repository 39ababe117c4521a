package agent.policy;

import agent.types.Refusal;

/**
 * How much the rules of a node may hold together. A change that would exceed a limit is refused
 * before anything of it is stored; rules that were stored under other limits stay.
 *
 * @param rules the most rules
 * @param peers the most elements of ingress and egress, peers that are no CIDR, ports and types
 * @param cidrs the most CIDRs and exceptions
 * @param labels the most labels of rules and selectors
 * @param characters the most characters of all texts
 */
public record PolicyLimits(long rules, long peers, long cidrs, long labels, long characters) {
  /** What the heap of the daemon has room for. */
  public static final PolicyLimits DEFAULT =
      new PolicyLimits(20_000, 100_000, 50_000, 100_000, 48L << 20);

  /**
   * Checks that every limit is above 0.
   *
   * @throws IllegalArgumentException where one is not
   */
  public PolicyLimits {
    if (rules < 1 || peers < 1 || cidrs < 1 || labels < 1 || characters < 1) {
      throw new IllegalArgumentException(
          "limits of policy: %d rules, %d peers, %d CIDRs, %d labels, %d characters"
              .formatted(rules, peers, cidrs, labels, characters));
    }
  }

  /**
   * Checks what a change leads to; what does not grow is not refused.
   *
   * @throws Refusal OVER_LIMIT naming the limit
   */
  void check(RuleCount before, RuleCount after) {
    check("rules", "--max-policy-rules", before.rules(), after.rules(), rules);
    check("peers and ports", "--max-policy-peers", before.peers(), after.peers(), peers);
    check("CIDRs", "--max-policy-cidrs", before.cidrs(), after.cidrs(), cidrs);
    check("labels", "--max-policy-labels", before.labels(), after.labels(), labels);
    check("characters", "--max-policy-text", before.characters(), after.characters(), characters);
  }

  private static void check(String what, String option, long before, long after, long most) {
    if (after > most && after > before) {
      throw Refusal.overLimit(
          "policy",
          "all rules together would have %d %s, at most %d are held (%s)"
              .formatted(after, what, most, option));
    }
  }
}
