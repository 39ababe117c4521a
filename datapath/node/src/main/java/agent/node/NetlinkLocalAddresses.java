package agent.node;

import agent.node.netlink.AddressMessage;
import agent.node.netlink.LinkMessage;
import agent.node.netlink.RouteMessage;
import agent.node.netlink.RouteNetlink;
import agent.types.Prefix;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Reads addresses and default routes from the kernel at each call, by rtnetlink. */
final class NetlinkLocalAddresses implements LocalAddresses {
  @Override
  public List<LocalAddress> all() {
    return NetlinkCall.run(NetlinkLocalAddresses::list);
  }

  /** Returns the addresses; omits those of a device that was removed between the two dumps. */
  private static List<LocalAddress> list(RouteNetlink netlink) {
    final List<AddressMessage> addresses = netlink.addresses();
    final Map<Integer, String> names =
        netlink.links().stream()
            .collect(Collectors.toMap(LinkMessage::index, LinkMessage::name, (a, b) -> b));
    final List<LocalAddress> local = new ArrayList<>();
    for (final AddressMessage address : addresses) {
      final String device = names.get(address.deviceIndex());
      if (device != null) {
        local.add(new LocalAddress(address.address(), address.prefixLength(), device));
      }
    }
    return local;
  }

  @Override
  public List<Prefix> routedHere() {
    return NetlinkCall.run(
        netlink ->
            Stream.of(true, false)
                .flatMap(ipv4 -> netlink.localRoutes(ipv4).stream())
                .filter(RouteMessage::isToThisNode)
                .map(RouteMessage::destination)
                .toList());
  }

  @Override
  public Optional<String> defaultDevice(boolean ipv4) {
    return NetlinkCall.run(
        netlink ->
            netlink.routes(ipv4).stream()
                .filter(route -> route.destination().length() == 0)
                .filter(route -> route.type() == RouteMessage.TYPE_UNICAST)
                .filter(route -> route.deviceIndex() > 0)
                .min(Comparator.comparing(RouteMessage::priority, Integer::compareUnsigned))
                .flatMap(route -> netlink.link(route.deviceIndex()))
                .map(LinkMessage::name));
  }
}
