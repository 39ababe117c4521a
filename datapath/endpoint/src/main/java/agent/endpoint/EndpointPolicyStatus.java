package agent.endpoint;

import agent.policy.DerivedRule;
import java.util.List;

/**
 * A resolved policy of an endpoint.
 *
 * @param identity the endpoint's own identity, 0 before it has one
 * @param build number of the calculated policy, 0 before the first
 * @param revision revision of the policy repository
 * @param enforcement in which directions it is enforced
 * @param allowedIngress identities that may reach the endpoint
 * @param allowedEgress identities that it may reach
 * @param deniedIngress identities that a deny rule keeps out
 * @param deniedEgress identities that a deny rule keeps it from
 * @param l4Ingress the port rules for traffic to it
 * @param l4Egress the port rules for traffic from it
 * @param cidrIngress the CIDR rules for traffic to it
 * @param cidrEgress the CIDR rules for traffic from it
 */
public record EndpointPolicyStatus(
    int identity,
    long build,
    long revision,
    PolicyEnforcement enforcement,
    List<Integer> allowedIngress,
    List<Integer> allowedEgress,
    List<Integer> deniedIngress,
    List<Integer> deniedEgress,
    List<DerivedRule> l4Ingress,
    List<DerivedRule> l4Egress,
    List<DerivedRule> cidrIngress,
    List<DerivedRule> cidrEgress) {
  /** Before anything was calculated. */
  public static final EndpointPolicyStatus NONE =
      new EndpointPolicyStatus(
          0,
          0,
          0,
          PolicyEnforcement.NONE,
          List.of(),
          List.of(),
          List.of(),
          List.of(),
          List.of(),
          List.of(),
          List.of(),
          List.of());
}
