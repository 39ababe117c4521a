package agent.node;

import agent.node.netlink.NeighbourMessage;
import agent.node.netlink.RouteMessage;
import agent.types.IpAddress;
import agent.types.MacAddress;
import agent.types.Prefix;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The difference between the desired routes and neighbours of workloads and those of the kernel. It
 * never removes a route or neighbour without the agent's protocol number.
 *
 * @param routesToRemove routes of the agent that are not desired or differ from the desired ones
 * @param routesToAdd desired routes that the kernel does not have
 * @param neighboursToReplace desired neighbours that are missing or different in the kernel
 * @param neighboursToRemove neighbours of the agent that are not desired
 */
record RouteDifference(
    List<RouteMessage> routesToRemove,
    List<RouteMessage> routesToAdd,
    List<NeighbourMessage> neighboursToReplace,
    List<NeighbourMessage> neighboursToRemove) {
  /** The agent's routing protocol number, in the range for user space (rtnetlink(7), 5..255). */
  static final int PROTOCOL = 169;

  /** An address on a link: the key of a neighbour. */
  private record LinkAddress(IpAddress address, int deviceIndex) {
    static LinkAddress of(NeighbourMessage neighbour) {
      return new LinkAddress(neighbour.address(), neighbour.deviceIndex());
    }
  }

  /**
   * Compares desired routes and neighbours with those of the kernel.
   *
   * @param wantedRoutes results of {@link #wantedRoute}
   * @param wantedNeighbours results of {@link #wantedNeighbour}
   * @param realRoutes the kernel's routes of the main table
   * @param realNeighbours the kernel's neighbours of all devices
   * @return the difference
   */
  static RouteDifference between(
      List<RouteMessage> wantedRoutes,
      List<NeighbourMessage> wantedNeighbours,
      Collection<RouteMessage> realRoutes,
      Collection<NeighbourMessage> realNeighbours) {
    final Set<RouteMessage> wanted = new HashSet<>(wantedRoutes);
    final Set<RouteMessage> present = new HashSet<>();
    final List<RouteMessage> routesToRemove = new ArrayList<>();
    for (final RouteMessage real : realRoutes) {
      if (isOwn(real) && wanted.contains(withoutPriority(real))) {
        present.add(withoutPriority(real));
      } else if (isOwn(real)) {
        routesToRemove.add(real);
      }
    }
    final Map<LinkAddress, NeighbourMessage> neighbours = new HashMap<>();
    realNeighbours.forEach(neighbour -> neighbours.put(LinkAddress.of(neighbour), neighbour));
    final List<NeighbourMessage> neighboursToReplace =
        wantedNeighbours.stream()
            .filter(neighbour -> !neighbour.equals(neighbours.get(LinkAddress.of(neighbour))))
            .toList();
    wantedNeighbours.forEach(neighbour -> neighbours.remove(LinkAddress.of(neighbour)));
    return new RouteDifference(
        routesToRemove,
        wantedRoutes.stream().filter(route -> !present.contains(route)).toList(),
        neighboursToReplace,
        neighbours.values().stream().filter(n -> n.protocol() == PROTOCOL).toList());
  }

  /**
   * Returns the desired route to an address of a workload.
   *
   * @param source the node's source address for packets to it, or null
   */
  static RouteMessage wantedRoute(IpAddress address, int deviceIndex, IpAddress source) {
    return new RouteMessage(
        Prefix.of(address),
        deviceIndex,
        null,
        source,
        PROTOCOL,
        RouteMessage.TABLE_MAIN,
        RouteMessage.TYPE_UNICAST,
        0);
  }

  /**
   * Returns the desired neighbour of an address of a workload.
   *
   * @param mac the workload's hardware address
   */
  static NeighbourMessage wantedNeighbour(IpAddress address, int deviceIndex, MacAddress mac) {
    return new NeighbourMessage(
        address, deviceIndex, mac, NeighbourMessage.STATE_PERMANENT, PROTOCOL);
  }

  /** Returns whether the agent added it as a route to a workload. */
  static boolean isOwn(RouteMessage route) {
    return route.protocol() == PROTOCOL
        && route.table() == RouteMessage.TABLE_MAIN
        && route.type() == RouteMessage.TYPE_UNICAST
        && route.destination().isSingleAddress()
        && route.deviceIndex() > 0;
  }

  /**
   * Returns the route without its metric: the kernel assigns one to IPv6 routes added without
   * (IP6_RT_PRIO_USER).
   */
  private static RouteMessage withoutPriority(RouteMessage route) {
    return new RouteMessage(
        route.destination(),
        route.deviceIndex(),
        route.gateway(),
        route.source(),
        route.protocol(),
        route.table(),
        route.type(),
        0);
  }

  /** Returns whether nothing differs. */
  boolean isEmpty() {
    return size() == 0;
  }

  /** Returns the number of routes and neighbours that differ. */
  int size() {
    return routesToRemove.size()
        + routesToAdd.size()
        + neighboursToReplace.size()
        + neighboursToRemove.size();
  }

  /** Returns what differs, for logs. */
  @Override
  public String toString() {
    return Stream.of(
            routesToRemove.stream().map(route -> route.destination() + " was different"),
            routesToAdd.stream()
                .filter(route -> !isChanged(route))
                .map(route -> route.destination() + " was missing"),
            neighboursToReplace.stream()
                .map(neighbour -> "neighbour " + neighbour.address() + " was missing or different"),
            neighboursToRemove.stream()
                .map(neighbour -> "neighbour " + neighbour.address() + " was on another interface"))
        .flatMap(Function.identity())
        .collect(Collectors.joining(", "));
  }

  private boolean isChanged(RouteMessage added) {
    return routesToRemove.stream()
        .anyMatch(removed -> removed.destination().equals(added.destination()));
  }
}
