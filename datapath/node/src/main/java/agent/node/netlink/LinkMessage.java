package agent.node.netlink;

import static agent.node.netlink.AttributeValues.AF_UNSPEC;

import agent.bindings.net.NetlinkAttributeFlyweight;
import agent.bindings.net.NetlinkException;
import agent.bindings.net.NetlinkMessageFlyweight;
import agent.bindings.net.NetlinkRequest;
import agent.types.MacAddress;
import java.util.Optional;

/**
 * A network device in RTM_NEWLINK and RTM_DELLINK messages ({@code struct ifinfomsg} of {@code
 * linux/rtnetlink.h}, IFLA_* of {@code linux/if_link.h}).
 *
 * @param index unique in the network namespace
 * @param name its name
 * @param mac its hardware address, or null where it is not an Ethernet device
 * @param mtu in bytes, 0 where the message has none
 * @param isUp whether it is administratively up (IFF_UP)
 * @param isRunning whether it is up and has a carrier (IFF_RUNNING)
 * @param kind its kind, such as {@code veth} (IFLA_INFO_KIND), or null for a physical device
 * @param peerIndex the index of the linked device (IFLA_LINK): for a veth the other end, in the
 *     namespace of that end; 0 for none
 * @param peerNamespaceId the id of the peer's namespace in this namespace (IFLA_LINK_NETNSID), or
 *     -1 where the peer is in this namespace
 */
public record LinkMessage(
    int index,
    String name,
    MacAddress mac,
    int mtu,
    boolean isUp,
    boolean isRunning,
    String kind,
    int peerIndex,
    int peerNamespaceId) {
  /** A device was added or changed. */
  public static final int RTM_NEWLINK = 16;

  /** A device was removed. */
  public static final int RTM_DELLINK = 17;

  private static final int RTM_GETLINK = 18;

  // struct ifinfomsg: family 1, padding 1, type 2, index 4, flags 4, changed flags 4
  private static final int FAMILY_OFFSET = 0;
  private static final int TYPE_OFFSET = 2;
  private static final int INDEX_OFFSET = 4;
  private static final int FLAGS_OFFSET = 8;
  private static final int HEADER_LENGTH = 16;

  private static final int IFLA_ADDRESS = 1;
  private static final int IFLA_IFNAME = 3;
  private static final int IFLA_MTU = 4;
  private static final int IFLA_LINK = 5;
  private static final int IFLA_LINKINFO = 18;
  private static final int IFLA_EXT_MASK = 29;
  private static final int IFLA_LINK_NETNSID = 37;
  private static final int IFLA_TARGET_NETNSID = 46;
  private static final int IFLA_INFO_KIND = 1;

  /** Omits statistics, which are most of an answer and are not used ({@code linux/rtnetlink.h}). */
  private static final int RTEXT_FILTER_SKIP_STATS = 8;

  /** {@code linux/if_arp.h}. */
  private static final int ARPHRD_ETHER = 1;

  // linux/if.h
  private static final int IFF_UP = 0x1;
  private static final int IFF_RUNNING = 0x40;

  /**
   * Decodes an answer or an event.
   *
   * @return the device, or empty for a message of another type or family, such as a port of a
   *     bridge (AF_BRIDGE), whose RTM_DELLINK does not mean that the device was removed
   * @throws NetlinkException where the message is malformed
   */
  public static Optional<LinkMessage> decode(NetlinkMessageFlyweight message) {
    if (message.type() != RTM_NEWLINK && message.type() != RTM_DELLINK
        || message.getByte(FAMILY_OFFSET) != AF_UNSPEC) {
      return Optional.empty();
    }
    final int flags = message.getInt(FLAGS_OFFSET);
    final boolean isEthernet = message.getShort(TYPE_OFFSET) == ARPHRD_ETHER;
    final NetlinkAttributeFlyweight attributes = message.attributes(HEADER_LENGTH);
    String name = null;
    MacAddress mac = null;
    int mtu = 0;
    String kind = null;
    int peerIndex = 0;
    int peerNamespaceId = -1;
    while (attributes.next()) {
      switch (attributes.type()) {
        case IFLA_ADDRESS -> mac = isEthernet ? AttributeValues.mac(attributes) : null;
        case IFLA_IFNAME -> name = attributes.getText();
        case IFLA_MTU -> mtu = attributes.getInt();
        case IFLA_LINK -> peerIndex = attributes.getInt();
        case IFLA_LINKINFO -> kind = kind(attributes.nested());
        case IFLA_LINK_NETNSID -> peerNamespaceId = attributes.getInt();
        default -> {}
      }
    }
    if (name == null) {
      throw NetlinkException.malformed("link " + message.getInt(INDEX_OFFSET) + " has no name");
    }
    return Optional.of(
        new LinkMessage(
            message.getInt(INDEX_OFFSET),
            name,
            mac,
            mtu,
            (flags & IFF_UP) != 0,
            (flags & IFF_RUNNING) != 0,
            kind,
            peerIndex,
            peerNamespaceId));
  }

  private static String kind(NetlinkAttributeFlyweight details) {
    String kind = null;
    while (details.next()) {
      if (details.type() == IFLA_INFO_KIND) {
        kind = details.getText();
      }
    }
    return kind;
  }

  static NetlinkRequest list() {
    return request("links: list", RTM_GETLINK, NetlinkRequest.NLM_F_DUMP, 0, 0, 0)
        .attribute(IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
  }

  static NetlinkRequest byName(String name) {
    return request("link '" + name + "': get", RTM_GETLINK, 0, 0, 0, 0)
        .attribute(IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS)
        .attribute(IFLA_IFNAME, name);
  }

  static NetlinkRequest byIndex(int index) {
    return request("link " + index + ": get", RTM_GETLINK, 0, index, 0, 0)
        .attribute(IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
  }

  /** Returns a request for the linked device, such as the other end of a veth. */
  NetlinkRequest peer() {
    final NetlinkRequest request =
        request("peer of link '" + name + "': get", RTM_GETLINK, 0, peerIndex, 0, 0)
            .attribute(IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
    return peerNamespaceId < 0 ? request : request.attribute(IFLA_TARGET_NETNSID, peerNamespaceId);
  }

  /** Returns a request that sets this device administratively up. */
  public NetlinkRequest upRequest() {
    return request("link '" + name + "': set up", RTM_NEWLINK, 0, index, IFF_UP, IFF_UP);
  }

  /** Returns a request that sets the MTU of this device. */
  public NetlinkRequest mtuRequest(int bytes) {
    return request("link '" + name + "': set MTU " + bytes, RTM_NEWLINK, 0, index, 0, 0)
        .attribute(IFLA_MTU, bytes);
  }

  /**
   * Returns a request that sets this device administratively down; the kernel then removes its
   * neighbours and its IPv6 routes.
   */
  public NetlinkRequest downRequest() {
    return request("link '" + name + "': set down", RTM_NEWLINK, 0, index, 0, IFF_UP);
  }

  private static NetlinkRequest request(
      String operation, int type, int flags, int index, int deviceFlags, int changedFlags) {
    return new NetlinkRequest(operation, type, flags)
        .putByte(AF_UNSPEC)
        .putByte(0)
        .putShort(0)
        .putInt(index)
        .putInt(deviceFlags)
        .putInt(changedFlags);
  }
}
