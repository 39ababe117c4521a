package agent.endpoint.state;

import agent.policy.DerivedRule;
import java.util.List;

/**
 * The policy of an endpoint as the API returns it.
 *
 * @param identity the identity of the endpoint, 0 before it has one
 * @param build number of the resolved policy, 0 before the first
 * @param revision revision of the policy repository
 * @param enforcement the directions in which it is enforced
 * @param allowedIngress identities allowed to send to the endpoint
 * @param allowedEgress identities that the endpoint may send to
 * @param deniedIngress identities that a deny rule forbids to send to the endpoint
 * @param deniedEgress identities that a deny rule forbids the endpoint to send to
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
  /** The status before the first policy is resolved. */
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
