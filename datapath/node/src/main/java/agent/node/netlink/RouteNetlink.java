package agent.node.netlink;

import agent.bindings.Errno;
import agent.bindings.net.NetlinkException;
import agent.bindings.net.NetlinkRequest;
import agent.bindings.net.NetlinkSocket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;

/**
 * An rtnetlink session in the network namespace of the thread that opens it; only that thread may
 * use it. Opening takes about 10 microseconds, so a session is opened for each task. Every method
 * throws {@link NetlinkException} where the kernel refuses a request.
 */
public final class RouteNetlink implements AutoCloseable {
  /** IFNAMSIZ without the terminating NUL ({@code linux/if.h}). */
  private static final int MAX_NAME_BYTES = 15;

  private final NetlinkSocket socket;

  private RouteNetlink(NetlinkSocket socket) {
    this.socket = socket;
  }

  /** Opens a session. */
  public static RouteNetlink open() {
    return new RouteNetlink(NetlinkSocket.open());
  }

  /** Returns the device with this name; alternative names do not match. */
  public Optional<LinkMessage> link(String name) {
    if (name.isEmpty() || name.getBytes(StandardCharsets.UTF_8).length > MAX_NAME_BYTES) {
      return Optional.empty();
    }
    return link(LinkMessage.byName(name)).filter(link -> link.name().equals(name));
  }

  /**
   * Returns the device with this index.
   *
   * @param index above 0
   */
  public Optional<LinkMessage> link(int index) {
    return index <= 0 ? Optional.empty() : link(LinkMessage.byIndex(index));
  }

  /**
   * Returns the device that is linked to this one, such as the other end of a veth; empty where it
   * or its namespace does not exist.
   */
  public Optional<LinkMessage> peer(LinkMessage link) {
    try {
      return link.peerIndex() <= 0 ? Optional.empty() : link(link.peer());
    } catch (NetlinkException failure) {
      if (failure.errno() == Errno.EINVAL) { // no namespace has the id (rtnl_get_net_ns_capable)
        return Optional.empty();
      }
      throw failure;
    }
  }

  private Optional<LinkMessage> link(NetlinkRequest request) {
    try {
      return socket.query(request, LinkMessage::decode).stream().findFirst();
    } catch (NetlinkException failure) {
      if (failure.errno() == Errno.ENODEV) {
        return Optional.empty();
      }
      throw failure;
    }
  }

  /** Returns all devices. */
  public List<LinkMessage> links() {
    return socket.query(LinkMessage.list(), LinkMessage::decode);
  }

  /** Returns the largest packets of all devices. */
  public List<LinkSizes> linkSizes() {
    return socket.query(LinkMessage.list(), LinkSizes::decode);
  }

  /** Returns all IPv4 and IPv6 addresses. */
  public List<AddressMessage> addresses() {
    return socket.query(AddressMessage.list(), AddressMessage::decode);
  }

  /** Returns all IPv4 or IPv6 routes of the main table. */
  public List<RouteMessage> routes(boolean ipv4) {
    return routes(ipv4, 0);
  }

  /**
   * Returns the IPv4 or IPv6 routes of the main table that one program added.
   *
   * @param protocol its protocol number, or 0 for any
   */
  public List<RouteMessage> routes(boolean ipv4, int protocol) {
    return routesOf(ipv4, RouteMessage.TABLE_MAIN, protocol);
  }

  /** Returns the IPv4 or IPv6 routes of the main table with an MTU that is not locked. */
  public List<RouteMessage> routesWithMtu(boolean ipv4) {
    return socket
        .query(
            RouteMessage.list(ipv4, RouteMessage.TABLE_MAIN, 0),
            message ->
                RouteMessage.hasPlainMtu(message) ? RouteMessage.decode(message) : Optional.empty())
        .stream()
        .filter(route -> route.table() == RouteMessage.TABLE_MAIN)
        .toList();
  }

  /** Returns the IPv4 or IPv6 rules that choose a routing table. */
  public List<RuleMessage> rules(boolean ipv4) {
    return socket.query(RuleMessage.list(ipv4), RuleMessage::decode);
  }

  /** Returns the IPv4 or IPv6 routes of the local table. */
  public List<RouteMessage> localRoutes(boolean ipv4) {
    return routesOf(ipv4, RouteMessage.TABLE_LOCAL, 0);
  }

  /**
   * Returns the IPv4 or IPv6 routes of the main table that one program added by a device; none
   * where the device does not exist. The kernel leaves the others out.
   *
   * @param protocol its protocol number
   */
  public List<RouteMessage> routes(boolean ipv4, int protocol, int deviceIndex) {
    final int table = RouteMessage.TABLE_MAIN;
    try {
      return routes(RouteMessage.list(ipv4, table, protocol, deviceIndex), table, protocol).stream()
          .filter(route -> route.deviceIndex() == deviceIndex)
          .toList();
    } catch (NetlinkException failure) {
      if (failure.errno() == Errno.ENODEV) {
        return List.of();
      }
      throw failure;
    }
  }

  private List<RouteMessage> routesOf(boolean ipv4, int table, int protocol) {
    return routes(RouteMessage.list(ipv4, table, protocol), table, protocol);
  }

  private List<RouteMessage> routes(NetlinkRequest list, int table, int protocol) {
    try {
      return socket.query(list, RouteMessage::decode).stream()
          .filter(route -> route.table() == table)
          .filter(route -> protocol == 0 || route.protocol() == protocol)
          .toList();
    } catch (NetlinkException failure) {
      // The kernel creates a table with its first route (fib_new_table, net/ipv4/fib_frontend.c).
      if (failure.errno() == Errno.ENOENT) {
        return List.of();
      }
      throw failure;
    }
  }

  /** Returns all IPv4 and IPv6 neighbours. */
  public List<NeighbourMessage> neighbours() {
    return socket.query(NeighbourMessage.list(), NeighbourMessage::decode);
  }

  /**
   * Sends change requests in order; a failure does not stop the following ones.
   *
   * @param changes requests of the messages of this package
   * @return the failures, in the order of the requests
   */
  public List<NetlinkSocket.Failure> change(List<NetlinkRequest> changes) {
    return socket.requestAll(changes);
  }

  @Override
  public void close() {
    socket.close();
  }
}
