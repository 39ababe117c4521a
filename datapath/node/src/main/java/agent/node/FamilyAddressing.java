package agent.node;

import agent.types.IpAddress;
import agent.types.Prefix;

/**
 * One address family of the node.
 *
 * @param enabled whether endpoints may have addresses of this family; the other values are null
 *     where they may not
 * @param node the address by which the node is known; the gateway where the node has none
 * @param range the addresses of this node's endpoints
 * @param gateway the first address of the range, which the node itself owns
 */
public record FamilyAddressing(boolean enabled, IpAddress node, Prefix range, IpAddress gateway) {
  /** A family that is switched off. */
  public static final FamilyAddressing DISABLED = new FamilyAddressing(false, null, null, null);

  /**
   * An enabled family; the gateway is the first address of the range after the network's own.
   *
   * @param node the node's address, or null where it has none
   * @param range the endpoints' range
   * @return the family
   */
  public static FamilyAddressing of(IpAddress node, Prefix range) {
    final IpAddress gateway = range.address().plus(1);
    return new FamilyAddressing(true, node == null ? gateway : node, range, gateway);
  }
}
