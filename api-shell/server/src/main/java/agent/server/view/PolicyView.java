package agent.server.view;

import agent.policy.PolicySnapshot;
import agent.policy.SelectorListing;
import agent.policy.spec.RuleSpec;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * The rules of this node. For any thread; a change runs on the thread that owns the policy, and its
 * future completes when the rules are stored, with all rules after the change.
 */
public interface PolicyView {
  /**
   * Returns rules.
   *
   * @param labels labels that a rule must have; empty returns all
   * @throws agent.types.Refusal NOT_FOUND where labels were given and no rule has them
   */
  PolicySnapshot rules(List<String> labels);

  /**
   * Adds rules, all or none; rules that have the very same labels as one of them are replaced.
   *
   * @param rules the rules; a refusal names {@code [index]} and the path in it
   */
  CompletableFuture<PolicySnapshot> add(List<RuleSpec> rules);

  /**
   * Removes rules.
   *
   * @param labels labels that a rule must have; empty removes all
   */
  CompletableFuture<PolicySnapshot> delete(List<String> labels);

  /** Returns the selectors of the rules and what they select. */
  List<SelectorListing> selectors();
}
