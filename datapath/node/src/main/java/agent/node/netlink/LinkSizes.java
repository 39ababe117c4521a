package agent.node.netlink;

import static agent.node.netlink.AttributeValues.AF_UNSPEC;

import agent.bindings.net.NetlinkAttributeFlyweight;
import agent.bindings.net.NetlinkMessageFlyweight;
import java.util.Optional;

/**
 * The largest packets of a network device, of RTM_NEWLINK messages (IFLA_* of {@code
 * linux/if_link.h}). A kernel before 6.3 has one size for both families.
 *
 * @param index unique in the network namespace
 * @param name its name
 * @param mtu in bytes
 * @param groMax most bytes of a packet that GRO makes, IPv6
 * @param gsoMax most bytes of a packet that GSO takes, IPv6
 * @param groIpv4Max most bytes of a packet that GRO makes, IPv4
 * @param gsoIpv4Max most bytes of a packet that GSO takes, IPv4
 */
public record LinkSizes(
    int index, String name, int mtu, int groMax, int gsoMax, int groIpv4Max, int gsoIpv4Max) {
  private static final int FAMILY_OFFSET = 0;
  private static final int INDEX_OFFSET = 4;
  private static final int HEADER_LENGTH = 16;

  /** GSO_LEGACY_MAX_SIZE of include/linux/netdevice.h. */
  private static final int LEGACY_MAX = 65_536;

  private static final int IFLA_IFNAME = 3;
  private static final int IFLA_MTU = 4;
  private static final int IFLA_GSO_MAX_SIZE = 41;
  private static final int IFLA_GRO_MAX_SIZE = 58;
  private static final int IFLA_GSO_IPV4_MAX_SIZE = 63;
  private static final int IFLA_GRO_IPV4_MAX_SIZE = 64;

  /** Decodes an answer; empty for a message of another type or family. */
  static Optional<LinkSizes> decode(NetlinkMessageFlyweight message) {
    if (message.type() != LinkMessage.RTM_NEWLINK || message.getByte(FAMILY_OFFSET) != AF_UNSPEC) {
      return Optional.empty();
    }
    final NetlinkAttributeFlyweight attributes = message.attributes(HEADER_LENGTH);
    String name = "";
    int mtu = 0;
    int gro = 0;
    int gso = 0;
    int groIpv4 = 0;
    int gsoIpv4 = 0;
    while (attributes.next()) {
      switch (attributes.type()) {
        case IFLA_IFNAME -> name = attributes.getText();
        case IFLA_MTU -> mtu = attributes.getInt();
        case IFLA_GRO_MAX_SIZE -> gro = attributes.getInt();
        case IFLA_GSO_MAX_SIZE -> gso = attributes.getInt();
        case IFLA_GRO_IPV4_MAX_SIZE -> groIpv4 = attributes.getInt();
        case IFLA_GSO_IPV4_MAX_SIZE -> gsoIpv4 = attributes.getInt();
        default -> {}
      }
    }
    return Optional.of(
        new LinkSizes(
            message.getInt(INDEX_OFFSET),
            name,
            mtu,
            gro,
            gso,
            ipv4(groIpv4, gro),
            ipv4(gsoIpv4, gso)));
  }

  /** Kernels before 6.3 have no size of IPv4 alone, and make no larger packets of it than these. */
  private static int ipv4(int size, int ofBoth) {
    return size == 0 ? Math.min(ofBoth, LEGACY_MAX) : size;
  }
}
