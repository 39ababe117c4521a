package agent.endpoint.state;

import agent.policy.resolve.DirectionSummary;

/**
 * The policy of an endpoint as the API returns it.
 *
 * @param identity the identity of the endpoint, 0 before it has one
 * @param build number of the resolved policy, 0 before the first
 * @param revision revision of the policy repository
 * @param ingress what it says of traffic to the endpoint
 * @param egress what it says of traffic from the endpoint
 */
public record EndpointPolicyStatus(
    int identity, long build, long revision, DirectionSummary ingress, DirectionSummary egress) {
  /** The status before the first policy is resolved: nothing passes. */
  public static final EndpointPolicyStatus NONE =
      new EndpointPolicyStatus(0, 0, 0, DirectionSummary.NONE, DirectionSummary.NONE);

  /** Returns the directions in which it is enforced. */
  public PolicyEnforcement enforcement() {
    return PolicyEnforcement.of(ingress.enforced(), egress.enforced());
  }
}
