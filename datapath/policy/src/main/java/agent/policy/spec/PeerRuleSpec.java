package agent.policy.spec;

import java.util.List;

/**
 * One element of {@code ingress}, {@code egress}, {@code ingressDeny} or {@code egressDeny}. Null
 * is a field that is not there, which is not the same as an empty list.
 *
 * @param endpoints {@code fromEndpoints} or {@code toEndpoints}
 * @param requires {@code fromRequires} or {@code toRequires}
 * @param cidrs {@code fromCIDR} or {@code toCIDR}
 * @param cidrSets {@code fromCIDRSet} or {@code toCIDRSet}
 * @param entities {@code fromEntities} or {@code toEntities}
 * @param toPorts the ports
 * @param icmps the ICMP message types
 * @param unserved names of fields that are present and that this agent does not serve ({@code
 *     toServices}, {@code toFQDNs}); such a rule is refused. Null for none
 */
public record PeerRuleSpec(
    List<SelectorSpec> endpoints,
    List<SelectorSpec> requires,
    List<String> cidrs,
    List<CidrSetSpec> cidrSets,
    List<String> entities,
    List<PortRuleSpec> toPorts,
    List<IcmpRuleSpec> icmps,
    List<String> unserved) {
  /** An element that names nothing: every peer, every port. */
  public static final PeerRuleSpec ALL =
      new PeerRuleSpec(null, null, null, null, null, null, null, null);
}
