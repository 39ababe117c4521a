package agent.node;

import agent.types.IpAddress;

/**
 * The addresses of the node and the address ranges of its endpoints.
 *
 * @param ipv4 the IPv4 addressing
 * @param ipv6 the IPv6 addressing
 */
public record NodeAddressing(FamilyAddressing ipv4, FamilyAddressing ipv6) {
  /** Returns the addressing of the family of an address. */
  public FamilyAddressing family(IpAddress address) {
    return address.isIpv4() ? ipv4 : ipv6;
  }
}
