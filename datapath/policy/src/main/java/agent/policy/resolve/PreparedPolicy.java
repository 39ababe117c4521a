package agent.policy.resolve;

import agent.datapath.spec.PolicyDelta;

/**
 * A policy that an endpoint is to have, with the change of its map.
 *
 * @param before the policy that the change begins with
 * @param policy the policy
 * @param delta the change of the map
 */
public record PreparedPolicy(ResolvedPolicy before, ResolvedPolicy policy, PolicyDelta delta) {
  /** Returns a policy with its difference to the one before it. */
  public static PreparedPolicy of(ResolvedPolicy before, ResolvedPolicy policy) {
    return new PreparedPolicy(
        before, policy, PolicyDelta.between(before.entries(), policy.entries()));
  }
}
