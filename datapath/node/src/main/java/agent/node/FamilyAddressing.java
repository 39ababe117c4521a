package agent.node;

import agent.types.IpAddress;
import agent.types.Prefix;

/**
 * The addressing of one address family of the node.
 *
 * @param enabled whether endpoints may have addresses of this family; if not, the other values are
 *     null
 * @param node the address of the node; the gateway where the node has none
 * @param range the address range of this node's endpoints
 * @param gateway the first host address of the range, an address of the node
 */
public record FamilyAddressing(boolean enabled, IpAddress node, Prefix range, IpAddress gateway) {
  /** A disabled family. */
  public static final FamilyAddressing DISABLED = new FamilyAddressing(false, null, null, null);

  /**
   * Returns an enabled family; the gateway is the first address after the network address.
   *
   * @param node the node's address, or null where it has none
   * @param range the address range of endpoints
   * @return the family
   */
  public static FamilyAddressing of(IpAddress node, Prefix range) {
    final IpAddress gateway = range.address().plus(1);
    return new FamilyAddressing(true, node == null ? gateway : node, range, gateway);
  }
}
