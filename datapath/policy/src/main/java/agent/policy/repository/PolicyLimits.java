package agent.policy.repository;

import agent.policy.rule.RuleCount;
import agent.types.NumberOption;
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
  private static final int MOST = 2_000_000;

  public static final NumberOption RULES = new NumberOption("max-policy-rules", 20_000, 1, MOST);
  public static final NumberOption PEERS = new NumberOption("max-policy-peers", 100_000, 1, MOST);
  public static final NumberOption CIDRS = new NumberOption("max-policy-cidrs", 50_000, 1, MOST);
  public static final NumberOption LABELS = new NumberOption("max-policy-labels", 100_000, 1, MOST);
  public static final NumberOption TEXT = new NumberOption("max-policy-text", 48 << 20, 1);

  /** What the heap of the daemon has room for. */
  public static final PolicyLimits DEFAULT =
      new PolicyLimits(
          RULES.standard(), PEERS.standard(), CIDRS.standard(), LABELS.standard(), TEXT.standard());

  /**
   * Checks every limit.
   *
   * @throws IllegalArgumentException naming the option of one that is out of its range
   */
  public PolicyLimits {
    RULES.check(rules);
    PEERS.check(peers);
    CIDRS.check(cidrs);
    LABELS.check(labels);
    TEXT.check(characters);
  }

  /**
   * Checks what a change leads to; what does not grow is not refused.
   *
   * @throws Refusal OVER_LIMIT naming the limit
   */
  void check(RuleCount before, RuleCount after) {
    check("rules", RULES, before.rules(), after.rules(), rules);
    check("peers and ports", PEERS, before.peers(), after.peers(), peers);
    check("CIDRs", CIDRS, before.cidrs(), after.cidrs(), cidrs);
    check("labels", LABELS, before.labels(), after.labels(), labels);
    check("characters", TEXT, before.characters(), after.characters(), characters);
  }

  private static void check(String what, NumberOption option, long before, long after, long most) {
    if (after > most && after > before) {
      throw Refusal.overLimit(
          "policy",
          "the rules would have %d %s in total, the limit is %d (--%s)"
              .formatted(after, what, most, option.name()));
    }
  }
}
