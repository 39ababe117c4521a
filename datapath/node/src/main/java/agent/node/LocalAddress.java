package agent.node;

import agent.types.IpAddress;
import agent.types.Prefix;
import java.util.Optional;

/**
 * An address of the node.
 *
 * @param address the address
 * @param prefixLength the prefix length of the network on the device
 * @param device the device that has the address
 */
public record LocalAddress(IpAddress address, int prefixLength, String device) {
  private static final Prefix LOOPBACK4 = Prefix.of(IpAddress.ofIpv4(0x7f000000), 8);
  private static final IpAddress LOOPBACK6 = IpAddress.ofIpv6(0, 1);
  private static final Prefix LINK_LOCAL4 = Prefix.of(IpAddress.ofIpv4(0xa9fe0000), 16);
  static final Prefix LINK_LOCAL6 = Prefix.of(IpAddress.ofIpv6(0xfe80L << 48, 0), 10);

  /** Returns the network on the device. */
  public Prefix network() {
    return Prefix.of(address, prefixLength);
  }

  /**
   * Returns the IPv4 broadcast address of the network, or empty where it has none (RFC 3021: a
   * network of 31 bits).
   */
  public Optional<IpAddress> broadcast() {
    return address.isIpv4() && prefixLength > 0 && prefixLength < 31
        ? Optional.of(IpAddress.ofIpv4((int) address.low() | -1 >>> prefixLength))
        : Optional.empty();
  }

  /** Returns whether the address is valid only inside the node. */
  public boolean isLoopback() {
    return LOOPBACK4.contains(address) || address.equals(LOOPBACK6);
  }

  /** Returns whether the address is valid only on one link. */
  public boolean isLinkLocal() {
    return LINK_LOCAL4.contains(address) || LINK_LOCAL6.contains(address);
  }
}
