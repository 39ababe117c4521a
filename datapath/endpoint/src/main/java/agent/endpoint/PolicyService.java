package agent.endpoint;

import agent.policy.PolicyChange;
import agent.policy.reference.SelectorListing;
import agent.policy.repository.PolicySnapshot;
import agent.policy.resolve.EnforcementMode;
import agent.policy.trace.PolicyQuery;
import agent.policy.trace.PolicyTrace;
import agent.types.IpAddress;
import agent.types.ServiceName;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/**
 * The API of this node's policy. Thread-safe. A change is stored first; its future completes when
 * every endpoint enforces the new revision, or after a bounded wait. An endpoint that cannot apply
 * the revision reports it in its state, health and log, and is built again.
 */
public interface PolicyService {
  /**
   * Changes the rules. Changes that wait are stored and enforced together; a refused one changes
   * nothing and does not refuse the others.
   *
   * @param change an import or a deletion
   * @return all rules after the change, at its revision; or Refusal EXHAUSTED where a policy map
   *     would overflow, NOT_FOUND where no rule has the labels of a deletion, OVER_LIMIT
   */
  CompletableFuture<PolicySnapshot> change(PolicyChange change);

  /**
   * Returns the rules that have all of these labels.
   *
   * @param labels {@code [source:]key[=value]}; an empty list returns all rules
   * @return the rules
   * @throws agent.types.Refusal NOT_FOUND where labels were given and no rule has them
   */
  PolicySnapshot get(List<String> labels);

  /** Returns whether a flow would pass, by the same resolution that fills the policy maps. */
  PolicyTrace trace(PolicyQuery query);

  /** Returns the selectors of the rules and the identities that they select. */
  List<SelectorListing> selectors();

  /**
   * Replaces the addresses of names.
   *
   * @param changed names, with a dot at the end, and all addresses that they have now; none for a
   *     name that is gone
   * @return completes when the kernel has them
   */
  CompletableFuture<Void> names(Map<String, ? extends Collection<IpAddress>> changed);

  /**
   * Replaces the addresses of the backends of services; calls take effect in their order.
   *
   * @param changed names of services, and all addresses that their backends have now; none for a
   *     name that no service has
   * @return completes when the kernel has them; or Refusal EXHAUSTED where an address can have no
   *     identity
   */
  CompletableFuture<Void> services(Map<ServiceName, ? extends Collection<IpAddress>> changed);

  /** Returns the names that rules select one by one; the same object while there are no others. */
  Set<String> wantedNames();

  /** Returns the enforcement mode. */
  EnforcementMode mode();
}
