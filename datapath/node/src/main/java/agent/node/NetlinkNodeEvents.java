package agent.node;

import agent.bindings.Errno;
import agent.bindings.net.NetlinkException;
import agent.bindings.net.NetlinkMessageFlyweight;
import agent.bindings.net.NetlinkSocket;
import agent.node.netlink.AddressMessage;
import agent.node.netlink.LinkMessage;
import agent.node.netlink.RouteMessage;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Follows the events of rtnetlink in the network namespace of the thread that opens it. Allocates
 * nothing while there is no event, nor for routes to networks.
 */
final class NetlinkNodeEvents implements NodeEvents {
  private static final Logger LOGGER = LogManager.getLogger(NetlinkNodeEvents.class);

  /** A parameter of a device was changed ({@code linux/rtnetlink.h}). */
  private static final int RTM_NEWNETCONF = 80;

  private final NetlinkSocket socket =
      NetlinkSocket.subscribe(
          NetlinkSocket.GROUP_LINK,
          NetlinkSocket.GROUP_IPV4_ADDRESS,
          NetlinkSocket.GROUP_IPV6_ADDRESS,
          NetlinkSocket.GROUP_IPV4_ROUTE,
          NetlinkSocket.GROUP_IPV6_ROUTE,
          NetlinkSocket.GROUP_IPV4_PARAMETER,
          NetlinkSocket.GROUP_IPV6_PARAMETER);

  @Override
  public int descriptor() {
    return socket.fd();
  }

  @Override
  public int poll(Handler handler, int limit) {
    int count = 0;
    while (count < limit) {
      final int length = socket.receive();
      if (length == -Errno.EAGAIN) {
        break;
      }
      count++;
      if (length < 0) {
        LOGGER.warn("node: events of rtnetlink were lost: {}", Errno.name(-length));
        handler.onLost();
        break;
      }
      read(handler);
    }
    return count;
  }

  private void read(Handler handler) {
    final NetlinkMessageFlyweight message = socket.messages();
    try {
      while (message.next()) {
        dispatch(message, handler);
      }
    } catch (NetlinkException malformed) {
      LOGGER.warn("node: event of rtnetlink: {}", malformed.getMessage());
      handler.onLost();
    }
  }

  private static void dispatch(NetlinkMessageFlyweight message, Handler handler) {
    switch (message.type()) {
      case LinkMessage.RTM_NEWLINK ->
          LinkMessage.decode(message)
              .ifPresent(link -> handler.onDevice(NetlinkDevices.device(link)));
      case LinkMessage.RTM_DELLINK ->
          LinkMessage.decode(message)
              .ifPresent(link -> handler.onDeviceRemoved(link.index(), link.name()));
      case AddressMessage.RTM_NEWADDR, AddressMessage.RTM_DELADDR -> handler.onAddress();
      case RouteMessage.RTM_NEWROUTE, RouteMessage.RTM_DELROUTE -> {
        if (RouteMessage.isToSingleAddress(message)) {
          onRoute(message, handler);
        } else if (RouteMessage.isInLocalTable(message)) {
          onLocalRoute(message, handler);
        }
      }
      case RTM_NEWNETCONF -> handler.onParameter();
      default -> {}
    }
  }

  private static void onRoute(NetlinkMessageFlyweight message, Handler handler) {
    final boolean isAdded = message.type() == RouteMessage.RTM_NEWROUTE;
    RouteMessage.decode(message)
        .ifPresent(
            route ->
                handler.onRoute(
                    route.destination().address(),
                    route.deviceIndex(),
                    isAdded && RouteDifference.isOwn(route)));
  }

  private static void onLocalRoute(NetlinkMessageFlyweight message, Handler handler) {
    final boolean isAdded = message.type() == RouteMessage.RTM_NEWROUTE;
    RouteMessage.decode(message)
        .filter(RouteMessage::isToThisNode)
        .filter(route -> LocalAddresses.isReachable(route.destination()))
        .ifPresent(route -> handler.onLocalRoute(route.destination(), isAdded));
  }

  @Override
  public void close() {
    socket.close();
  }
}
