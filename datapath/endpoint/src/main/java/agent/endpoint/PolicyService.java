package agent.endpoint;

import agent.policy.EnforcementMode;
import agent.policy.PolicySnapshot;
import agent.policy.SelectorListing;
import agent.policy.spec.RuleSpec;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * The policy of this node, as the doors see it. Safe for every thread. A change is stored first,
 * and its future completes when every endpoint enforces the new revision, or after a bounded wait:
 * an endpoint that could not follow says so in its state, health and log, and is tried again.
 */
public interface PolicyService {
  /**
   * Adds rules, all or none. Rules that have the very same labels as one of the new ones are
   * replaced.
   *
   * @param rules the rules
   * @return all rules at the new revision; or Refusal INVALID with the index and path in the
   *     document, EXHAUSTED where a policy map would overflow
   */
  CompletableFuture<PolicySnapshot> importRules(List<RuleSpec> rules);

  /**
   * Removes the rules that have all of these labels.
   *
   * @param labels {@code [source:]key[=value]}; none removes all rules
   * @return the rules that are left at the new revision; or Refusal NOT_FOUND
   */
  CompletableFuture<PolicySnapshot> deleteRules(List<String> labels);

  /**
   * The rules that have all of these labels.
   *
   * @param labels {@code [source:]key[=value]}; none returns all rules
   * @return the rules
   * @throws agent.types.Refusal NOT_FOUND where labels were given and no rule has them
   */
  PolicySnapshot get(List<String> labels);

  /** The selectors of the rules and what they select. */
  List<SelectorListing> selectors();

  /** When policy is enforced. */
  EnforcementMode mode();
}
