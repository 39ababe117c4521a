package agent.node;

import agent.bindings.Errno;
import agent.bindings.net.NetlinkRequest;
import agent.bindings.net.NetlinkSocket;
import agent.node.NodeStore.NodeRecord;
import agent.node.netlink.AddressMessage;
import agent.node.netlink.LinkMessage;
import agent.node.netlink.NeighbourMessage;
import agent.node.netlink.RouteMessage;
import agent.node.netlink.RouteNetlink;
import agent.types.IpAddress;
import agent.types.Leftover;
import agent.types.OperationException;
import agent.types.Prefix;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * What agents left in the stack of this network namespace: routes and neighbours with the agent's
 * protocol number, and the gateways of workloads on the loopback device. A gateway is known by the
 * stored ranges of the node, and by the routes that have it as their source.
 */
public final class NodeLeftovers {
  private NodeLeftovers() {}

  /**
   * Finds them, in the order in which they are to be removed.
   *
   * @param stored the stored ranges of the node, where they can be read
   * @throws OperationException where the kernel cannot be asked
   */
  public static List<Leftover> find(Optional<NodeRecord> stored) {
    return NetlinkCall.run(netlink -> find(netlink, stored));
  }

  /** Returns the names of the interfaces of this network namespace by index. */
  public static Map<Integer, String> interfaces() {
    final Map<Integer, String> names = new TreeMap<>();
    NetlinkCall.run(RouteNetlink::links).forEach(link -> names.put(link.index(), link.name()));
    return names;
  }

  private static List<Leftover> find(RouteNetlink netlink, Optional<NodeRecord> stored) {
    final Map<Integer, String> names = new TreeMap<>();
    netlink.links().forEach(link -> names.put(link.index(), link.name()));
    final List<Leftover> found = new ArrayList<>();
    final Set<IpAddress> gateways = new TreeSet<>();
    stored.ifPresent(
        record ->
            Stream.of(record.ipv4Range(), record.ipv6Range())
                .filter(range -> range != null)
                .forEach(range -> gateways.add(gateway(range))));
    for (final boolean ipv4 : new boolean[] {true, false}) {
      for (final RouteMessage route : netlink.routes(ipv4, RouteDifference.PROTOCOL)) {
        if (RouteDifference.isOwn(route)) {
          found.add(
              leftover(
                  "route " + route.destination() + " through " + name(names, route.deviceIndex()),
                  route.deleteRequest()));
          Optional.ofNullable(route.source()).ifPresent(gateways::add);
        }
      }
    }
    for (final NeighbourMessage neighbour : netlink.neighbours()) {
      if (neighbour.protocol() == RouteDifference.PROTOCOL) {
        found.add(
            leftover(
                "neighbour " + neighbour.address() + " on " + name(names, neighbour.deviceIndex()),
                neighbour.deleteRequest()));
      }
    }
    addGateways(netlink, gateways, found);
    return found;
  }

  private static IpAddress gateway(Prefix range) {
    return range.address().plus(1);
  }

  private static String name(Map<Integer, String> names, int index) {
    return names.getOrDefault(index, "interface " + index);
  }

  private static void addGateways(
      RouteNetlink netlink, Set<IpAddress> gateways, List<Leftover> found) {
    final Optional<LinkMessage> loopback = netlink.link(Gateways.DEVICE);
    for (final AddressMessage address : netlink.addresses()) {
      if (loopback.isPresent()
          && address.deviceIndex() == loopback.get().index()
          && address.prefixLength() == address.address().bitLength()
          && gateways.contains(address.address())) {
        found.add(
            leftover(
                "address " + address.address() + " on " + Gateways.DEVICE,
                address.deleteRequest()));
      }
    }
  }

  private static Leftover leftover(String text, NetlinkRequest request) {
    return new Leftover(text, () -> NetlinkCall.run(netlink -> send(netlink, request)));
  }

  private static int send(RouteNetlink netlink, NetlinkRequest request) {
    for (final NetlinkSocket.Failure failure : netlink.change(List.of(request))) {
      final int errno = failure.cause().errno();
      if (!RouteChanges.isGone(errno) && errno != Errno.EADDRNOTAVAIL) {
        throw failure.cause();
      }
    }
    return 0;
  }
}
