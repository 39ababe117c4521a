package agent.endpoint;

import agent.policy.EnforcementMode;
import agent.policy.PolicySnapshot;
import agent.policy.SelectorListing;
import agent.policy.spec.RuleSpec;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * The API of this node's policy. Thread-safe. A change is stored first; its future completes when
 * every endpoint enforces the new revision, or after a bounded wait. An endpoint that cannot apply
 * the revision reports it in its state, health and log, and is built again.
 */
public interface PolicyService {
  /**
   * Adds all of the rules or none. A rule whose label set equals that of a new rule is replaced.
   *
   * @param rules the rules
   * @return all rules at the new revision; or Refusal INVALID with the index and path in the
   *     document, EXHAUSTED where a policy map would overflow
   */
  CompletableFuture<PolicySnapshot> importRules(List<RuleSpec> rules);

  /**
   * Removes the rules that have all of these labels.
   *
   * @param labels {@code [source:]key[=value]}; an empty list removes all rules
   * @return the remaining rules at the new revision; or Refusal NOT_FOUND
   */
  CompletableFuture<PolicySnapshot> deleteRules(List<String> labels);

  /**
   * Returns the rules that have all of these labels.
   *
   * @param labels {@code [source:]key[=value]}; an empty list returns all rules
   * @return the rules
   * @throws agent.types.Refusal NOT_FOUND where labels were given and no rule has them
   */
  PolicySnapshot get(List<String> labels);

  /** Returns the selectors of the rules and the identities that they select. */
  List<SelectorListing> selectors();

  /** Returns the enforcement mode. */
  EnforcementMode mode();
}
