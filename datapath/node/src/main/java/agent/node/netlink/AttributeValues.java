package agent.node.netlink;

import agent.bindings.net.NetlinkAttributeFlyweight;
import agent.bindings.net.NetlinkException;
import agent.types.IpAddress;
import agent.types.MacAddress;
import agent.types.Prefix;

/** Decodes attribute values that are addresses; families of {@code linux/socket.h}. */
final class AttributeValues {
  static final int AF_UNSPEC = 0;
  static final int AF_INET = 2;
  static final int AF_INET6 = 10;
  private static final int SIZE_OF_MAC = 6;

  private AttributeValues() {}

  static int family(IpAddress address) {
    return address.isIpv4() ? AF_INET : AF_INET6;
  }

  /** Returns whether the family is IPv4 or IPv6; messages of other families are skipped. */
  static boolean isIp(int family) {
    return family == AF_INET || family == AF_INET6;
  }

  /** Returns the address; its length must be that of the family. */
  static IpAddress address(int family, NetlinkAttributeFlyweight attribute) {
    final int length = (family == AF_INET ? IpAddress.IPV4_BITS : IpAddress.IPV6_BITS) / Byte.SIZE;
    if (attribute.length() != length) {
      throw NetlinkException.malformed(
          "attribute " + attribute.type() + " has " + attribute.length() + " bytes, not " + length);
    }
    return IpAddress.of(attribute.getBytes());
  }

  /** Returns a hardware address of 48 bits, or null where it has another length. */
  static MacAddress mac(NetlinkAttributeFlyweight attribute) {
    return attribute.length() == SIZE_OF_MAC ? MacAddress.of(attribute.getBytes()) : null;
  }

  /** Returns the prefix length, which must not exceed that of the address. */
  static int prefixLength(IpAddress address, int length) {
    if (length > address.bitLength()) {
      throw NetlinkException.malformed("a prefix of " + length + " bits: " + address);
    }
    return length;
  }

  static Prefix all(int family) {
    return family == AF_INET ? Prefix.ALL_IPV4 : Prefix.ALL_IPV6;
  }
}
