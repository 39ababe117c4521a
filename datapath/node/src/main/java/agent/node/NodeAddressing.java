package agent.node;

import agent.types.IpAddress;

/**
 * The node's addresses and the ranges of its endpoints.
 *
 * @param ipv4 the IPv4 side
 * @param ipv6 the IPv6 side
 */
public record NodeAddressing(FamilyAddressing ipv4, FamilyAddressing ipv6) {
  /** The side that an address belongs to. */
  public FamilyAddressing family(IpAddress address) {
    return address.isIpv4() ? ipv4 : ipv6;
  }
}
