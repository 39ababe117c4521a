package agent.node.netlink;

import agent.bindings.net.NetlinkAttributeFlyweight;
import agent.bindings.net.NetlinkException;
import agent.bindings.net.NetlinkMessageFlyweight;
import agent.bindings.net.NetlinkRequest;
import agent.types.IpAddress;
import agent.types.Prefix;
import java.util.Optional;

/**
 * A route in RTM_NEWROUTE and RTM_DELROUTE messages ({@code struct rtmsg} and RTA_* of {@code
 * linux/rtnetlink.h}).
 *
 * @param destination the destination prefix
 * @param deviceIndex the index of the outgoing device, of the first next hop where there are
 *     several; 0 for none
 * @param gateway the next hop, or null where the destination is on the link
 * @param source the node's own address towards the destination (RTA_PREFSRC), or null
 * @param protocol the program that added it (RTPROT_*)
 * @param table its routing table
 * @param type RTN_*
 * @param priority its metric; the lowest has precedence
 */
public record RouteMessage(
    Prefix destination,
    int deviceIndex,
    IpAddress gateway,
    IpAddress source,
    int protocol,
    int table,
    int type,
    int priority) {
  /** A route was added or changed. */
  public static final int RTM_NEWROUTE = 24;

  /** A route was removed. */
  public static final int RTM_DELROUTE = 25;

  /** The default table (RT_TABLE_MAIN). */
  public static final int TABLE_MAIN = 254;

  /** The table of what the kernel delivers to the node itself (RT_TABLE_LOCAL). */
  public static final int TABLE_LOCAL = 255;

  /** A unicast route (RTN_UNICAST). */
  public static final int TYPE_UNICAST = 1;

  // linux/rtnetlink.h
  private static final int TYPE_LOCAL = 2;
  private static final int TYPE_BROADCAST = 3;
  private static final int TYPE_ANYCAST = 4;

  private static final int RTM_GETROUTE = 26;

  // struct rtmsg: family, destination length, source length, tos, table, protocol, scope, type:
  // 1 each, flags 4
  private static final int FAMILY_OFFSET = 0;
  private static final int DESTINATION_LENGTH_OFFSET = 1;
  private static final int TABLE_OFFSET = 4;
  private static final int PROTOCOL_OFFSET = 5;
  private static final int TYPE_OFFSET = 7;
  private static final int HEADER_LENGTH = 12;

  private static final int RTA_DST = 1;
  private static final int RTA_OIF = 4;
  private static final int RTA_GATEWAY = 5;
  private static final int RTA_PRIORITY = 6;
  private static final int RTA_PREFSRC = 7;
  private static final int RTA_METRICS = 8;
  private static final int RTA_MULTIPATH = 9;
  private static final int RTA_TABLE = 15;

  private static final int RTAX_LOCK = 1;
  private static final int RTAX_MTU = 2;

  /** struct rtnexthop: length 2, flags 1, hops 1, index 4. */
  private static final int NEXT_HOP_INDEX_OFFSET = 4;

  private static final int RT_SCOPE_UNIVERSE = 0;
  private static final int RT_SCOPE_LINK = 253;
  private static final int RT_SCOPE_NOWHERE = 255;
  private static final int TYPE_ANY = 0;

  /**
   * Decodes an answer or an event.
   *
   * @return the route, or empty for a message of another type or family
   * @throws NetlinkException where the message is malformed
   */
  public static Optional<RouteMessage> decode(NetlinkMessageFlyweight message) {
    final int family = message.getByte(FAMILY_OFFSET);
    if (message.type() != RTM_NEWROUTE && message.type() != RTM_DELROUTE
        || !AttributeValues.isIp(family)) {
      return Optional.empty();
    }
    IpAddress destination = AttributeValues.all(family).address();
    int deviceIndex = 0;
    IpAddress gateway = null;
    IpAddress source = null;
    int table = message.getByte(TABLE_OFFSET);
    int priority = 0;
    final NetlinkAttributeFlyweight attributes = message.attributes(HEADER_LENGTH);
    while (attributes.next()) {
      switch (attributes.type()) {
        case RTA_DST -> destination = AttributeValues.address(family, attributes);
        case RTA_OIF -> deviceIndex = attributes.getInt();
        case RTA_GATEWAY -> gateway = AttributeValues.address(family, attributes);
        case RTA_PRIORITY -> priority = attributes.getInt();
        case RTA_PREFSRC -> source = AttributeValues.address(family, attributes);
        case RTA_MULTIPATH -> deviceIndex = attributes.getInt(NEXT_HOP_INDEX_OFFSET);
        case RTA_TABLE -> table = attributes.getInt();
        default -> {}
      }
    }
    final int length =
        AttributeValues.prefixLength(destination, message.getByte(DESTINATION_LENGTH_OFFSET));
    return Optional.of(
        new RouteMessage(
            Prefix.of(destination, length),
            deviceIndex,
            gateway,
            source,
            message.getByte(PROTOCOL_OFFSET),
            table,
            message.getByte(TYPE_OFFSET),
            priority));
  }

  /**
   * Returns whether the message is of a route to a single address in the main table, without
   * decoding the rest.
   */
  public static boolean isToSingleAddress(NetlinkMessageFlyweight message) {
    final int family = message.getByte(FAMILY_OFFSET);
    return AttributeValues.isIp(family)
        && message.getByte(DESTINATION_LENGTH_OFFSET)
            == AttributeValues.all(family).address().bitLength()
        && message.getByte(TABLE_OFFSET) == TABLE_MAIN;
  }

  /** Returns whether the message is of a route in the local table, without decoding the rest. */
  public static boolean isInLocalTable(NetlinkMessageFlyweight message) {
    return AttributeValues.isIp(message.getByte(FAMILY_OFFSET))
        && message.getByte(TABLE_OFFSET) == TABLE_LOCAL;
  }

  /**
   * Returns whether the message is of a route with an MTU that is not locked: the stack heeds it,
   * and the lookup of a BPF program does not tell it ({@code ip_mtu_from_fib_result}).
   */
  static boolean hasPlainMtu(NetlinkMessageFlyweight message) {
    boolean hasMtu = false;
    int locked = 0;
    final NetlinkAttributeFlyweight attributes = message.attributes(HEADER_LENGTH);
    while (attributes.next()) {
      if (attributes.type() == RTA_METRICS) {
        final NetlinkAttributeFlyweight metrics = attributes.nested();
        while (metrics.next()) {
          hasMtu |= metrics.type() == RTAX_MTU;
          locked |= metrics.type() == RTAX_LOCK ? metrics.getInt() : 0;
        }
      }
    }
    return hasMtu && (locked & 1 << RTAX_MTU) == 0;
  }

  /** Returns whether the kernel delivers packets to the destination to sockets of the node. */
  public boolean isToThisNode() {
    return table == TABLE_LOCAL
        && (type == TYPE_LOCAL || type == TYPE_BROADCAST || type == TYPE_ANYCAST);
  }

  /** Returns a request for the routes of a table by a device; protocol 0 means any. */
  static NetlinkRequest list(boolean ipv4, int table, int protocol, int deviceIndex) {
    return list(ipv4, table, protocol).attribute(RTA_OIF, deviceIndex);
  }

  /** Returns a request for the routes of a table; protocol 0 means any. */
  static NetlinkRequest list(boolean ipv4, int table, int protocol) {
    final String operation = (ipv4 ? "IPv4" : "IPv6") + " routes: list";
    return new NetlinkRequest(operation, RTM_GETROUTE, NetlinkRequest.NLM_F_DUMP)
        .putByte(ipv4 ? AttributeValues.AF_INET : AttributeValues.AF_INET6)
        .putByte(0)
        .putShort(0)
        .putByte(table)
        .putByte(protocol)
        .putShort(0)
        .putInt(0);
  }

  /**
   * Returns a request that adds this route with link scope; EEXIST where a route with the same
   * destination and metric exists, whichever program added it.
   */
  public NetlinkRequest addRequest() {
    final NetlinkRequest request =
        request(
            "add",
            RTM_NEWROUTE,
            NetlinkRequest.NLM_F_CREATE | NetlinkRequest.NLM_F_EXCL,
            destination.isIpv4() ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE,
            type);
    return source == null ? request : request.attribute(RTA_PREFSRC, source.toBytes());
  }

  /**
   * Returns a request that removes the route with this destination, device and protocol; ESRCH
   * where it does not exist.
   */
  public NetlinkRequest deleteRequest() {
    return request("delete", RTM_DELROUTE, 0, RT_SCOPE_NOWHERE, TYPE_ANY);
  }

  private NetlinkRequest request(
      String what, int messageType, int flags, int scope, int routeType) {
    return new NetlinkRequest(
            "route " + destination + " through link " + deviceIndex + ": " + what,
            messageType,
            flags)
        .putByte(AttributeValues.family(destination.address()))
        .putByte(destination.length())
        .putShort(0)
        .putByte(table)
        .putByte(protocol)
        .putByte(scope)
        .putByte(routeType)
        .putInt(0)
        .attribute(RTA_DST, destination.address().toBytes())
        .attribute(RTA_OIF, deviceIndex);
  }
}
