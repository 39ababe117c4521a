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
 * @param unserved names of fields that are present and that this agent does not serve; such a rule
 *     is refused. Null for none
 * @param fqdns {@code toFQDNs}
 * @param services {@code toServices}
 */
public record PeerRuleSpec(
    List<SelectorSpec> endpoints,
    List<SelectorSpec> requires,
    List<String> cidrs,
    List<CidrSetSpec> cidrSets,
    List<String> entities,
    List<PortRuleSpec> toPorts,
    List<IcmpRuleSpec> icmps,
    List<String> unserved,
    List<FqdnSpec> fqdns,
    List<ServiceSpec> services) {
  /** The element {@code {}}, which names nothing: as an allow it means no peer. */
  public static final PeerRuleSpec NO_PEER =
      new PeerRuleSpec(null, null, null, null, null, null, null, null, null, null);

  /** Every peer, every port. */
  public static final PeerRuleSpec ALL =
      new PeerRuleSpec(null, null, null, null, List.of("all"), null, null, null, null, null);

  /**
   * Returns whether no peers are named, not even none of them by an empty list. What is required
   * names none: it restricts those that are named, and all where none are.
   */
  public boolean namesNoPeer() {
    return endpoints == null
        && cidrs == null
        && cidrSets == null
        && fqdns == null
        && services == null
        && entities == null;
  }

  /** Returns whether it is {@code {}}. */
  public boolean isEmpty() {
    return namesNoPeer() && requires == null && toPorts == null && icmps == null;
  }

  /**
   * One of {@code toServices}: the services that have a name.
   *
   * @param name the name
   * @param namespace the namespace of the name; null or empty for none
   */
  public record ServiceSpec(String name, String namespace) {}

  /**
   * One of {@code toFQDNs}: one of the two is there.
   *
   * @param matchName a name; null for none
   * @param matchPattern a pattern of names; null for none
   */
  public record FqdnSpec(String matchName, String matchPattern) {}

  /**
   * One of {@code icmps[].fields}.
   *
   * @param family {@code IPv4} or {@code IPv6}; null for {@code IPv4}
   * @param type the message type: a number from 0 to 255, or its name in the registry of the family
   */
  public record IcmpFieldSpec(String family, String type) {}

  /**
   * One of {@code icmps}.
   *
   * @param fields the message types
   */
  public record IcmpRuleSpec(List<IcmpFieldSpec> fields) {}

  /**
   * A CIDR with exceptions.
   *
   * @param cidr the CIDR
   * @param except the CIDRs within it that are not meant; null for none
   */
  public record CidrSetSpec(String cidr, List<String> except) {}

  /**
   * One of {@code toPorts[].ports}.
   *
   * @param port a number; {@code 0} is every port of the protocol. Or the name of a port: for
   *     ingress that of the endpoint itself, for egress those of each peer. Null for a protocol
   *     without ports
   * @param endPort the last port of a range, null for one port
   * @param protocol {@code TCP}, {@code UDP}, {@code SCTP}, {@code ANY}, or one without ports:
   *     {@code ICMP}, {@code ICMPv6}, {@code VRRP} or {@code IGMP}; null for {@code ANY}, which is
   *     the first three
   */
  public record PortSpec(String port, Integer endPort, String protocol) {}

  /**
   * One of {@code toPorts}.
   *
   * @param ports the ports
   * @param unserved names of fields that are present and that this agent does not serve; such a
   *     rule is refused. Null for none
   * @param rules which requests may pass on these ports; null for all
   */
  public record PortRuleSpec(List<PortSpec> ports, List<String> unserved, RequestRuleSpec rules) {
    /** Creates an element without rules of requests. */
    public PortRuleSpec(List<PortSpec> ports, List<String> unserved) {
      this(ports, unserved, null);
    }
  }
}
