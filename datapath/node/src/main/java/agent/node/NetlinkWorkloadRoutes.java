package agent.node;

import agent.node.WorkloadRoutes.WorkloadRoute;
import agent.node.netlink.LinkMessage;
import agent.node.netlink.NeighbourMessage;
import agent.node.netlink.RouteMessage;
import agent.node.netlink.RouteNetlink;
import agent.types.IpAddress;
import agent.types.OperationException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Manages workload routes by rtnetlink. The agent's routes and neighbours have its routing protocol
 * number, so that it recognizes them after a restart and removes no others.
 */
final class NetlinkWorkloadRoutes implements WorkloadRoutes {
  private final Forwarding forwarding;
  private final NodeAddressing addressing;

  NetlinkWorkloadRoutes(Forwarding forwarding, NodeAddressing addressing) {
    this.forwarding = forwarding;
    this.addressing = addressing;
  }

  @Override
  public void add(WorkloadRoute route) {
    final List<String> errors = NetlinkCall.run(netlink -> add(netlink, route));
    if (!errors.isEmpty()) {
      throw new OperationException(String.join("; ", errors));
    }
    if (route.ipv4() != null) {
      forwarding.keep(route.interfaceName());
    }
    forwarding.keepMtu(route.interfaceName());
  }

  private List<String> add(RouteNetlink netlink, WorkloadRoute route) {
    final LinkMessage link = netlink.link(route.interfaceName()).orElse(null);
    if (link == null) {
      return List.of(noInterface(route.interfaceName()));
    }
    final RouteChanges changes = new RouteChanges();
    changes.change(link.upRequest());
    for (final IpAddress address : route.addresses()) {
      changes.add(wantedRoute(address, link.index()));
      changes.change(
          RouteDifference.wantedNeighbour(address, link.index(), route.mac()).replaceRequest());
    }
    return changes.make(netlink);
  }

  private RouteMessage wantedRoute(IpAddress address, int deviceIndex) {
    final FamilyAddressing family = addressing.family(address);
    return RouteDifference.wantedRoute(
        address, deviceIndex, family.enabled() ? family.gateway() : null);
  }

  private static String noInterface(String name) {
    return "interface '" + name + "' does not exist";
  }

  @Override
  public List<String> remove(WorkloadRoute route) {
    return onLink(
        route.interfaceName(),
        link -> {
          final RouteChanges changes = withdrawal(route, link);
          changes.remove(link.downRequest());
          return changes;
        });
  }

  @Override
  public List<String> withdraw(WorkloadRoute route) {
    return onLink(route.interfaceName(), link -> withdrawal(route, link));
  }

  private RouteChanges withdrawal(WorkloadRoute route, LinkMessage link) {
    final RouteChanges changes = new RouteChanges();
    for (final IpAddress address : route.addresses()) {
      changes.remove(wantedRoute(address, link.index()).deleteRequest());
    }
    return changes;
  }

  @Override
  public List<String> setDown(String interfaceName) {
    return onLink(
        interfaceName,
        link -> {
          final RouteChanges changes = new RouteChanges();
          changes.remove(link.downRequest());
          return changes;
        });
  }

  @Override
  public void setUp(String interfaceName) {
    final List<String> errors =
        NetlinkCall.run(
            netlink -> {
              final LinkMessage link = netlink.link(interfaceName).orElse(null);
              if (link == null) {
                return List.of(noInterface(interfaceName));
              }
              final RouteChanges changes = new RouteChanges();
              changes.change(link.upRequest());
              return changes.make(netlink);
            });
    if (!errors.isEmpty()) {
      throw new OperationException(String.join("; ", errors));
    }
  }

  /**
   * Applies changes to an interface; returns no error where it does not exist, because the kernel
   * removed its routes with it.
   */
  private static List<String> onLink(String name, Function<LinkMessage, RouteChanges> changes) {
    try {
      return NetlinkCall.run(
          netlink ->
              netlink.link(name).map(link -> changes.apply(link).make(netlink)).orElse(List.of()));
    } catch (OperationException failure) {
      return List.of(failure.getMessage());
    }
  }

  @Override
  public List<String> synchronize(Collection<WorkloadRoute> routes) {
    try {
      return NetlinkCall.run(netlink -> synchronize(netlink, routes));
    } catch (OperationException failure) {
      return List.of(failure.getMessage());
    }
  }

  private List<String> synchronize(RouteNetlink netlink, Collection<WorkloadRoute> routes) {
    final Map<String, LinkMessage> links =
        netlink.links().stream()
            .collect(Collectors.toMap(LinkMessage::name, Function.identity(), (a, b) -> b));
    final List<String> errors = new ArrayList<>();
    final List<RouteMessage> wantedRoutes = new ArrayList<>();
    final List<NeighbourMessage> wantedNeighbours = new ArrayList<>();
    for (final WorkloadRoute route : routes) {
      final LinkMessage link = links.get(route.interfaceName());
      if (link == null) {
        errors.add(noInterface(route.interfaceName()));
      } else if (link.isUp()) {
        for (final IpAddress address : route.addresses()) {
          wantedRoutes.add(wantedRoute(address, link.index()));
          wantedNeighbours.add(RouteDifference.wantedNeighbour(address, link.index(), route.mac()));
        }
      }
    }
    final RouteDifference difference =
        RouteDifference.between(
            wantedRoutes, wantedNeighbours, ownRoutes(netlink).toList(), netlink.neighbours());
    errors.addAll(changes(difference).make(netlink));
    return errors;
  }

  @Override
  public List<RouteRepair> repair(Collection<WorkloadRoute> routes) {
    return routes.isEmpty() ? List.of() : NetlinkCall.run(netlink -> repair(netlink, routes));
  }

  /** Compares the routes of these workloads and repairs each of them, in one request each. */
  private List<RouteRepair> repair(RouteNetlink netlink, Collection<WorkloadRoute> routes) {
    final Map<String, Integer> indexes = indexes(netlink);
    final Map<IpAddress, List<RouteMessage>> realRoutes =
        ownRoutes(netlink)
            .filter(RouteDifference::isOwn)
            .collect(Collectors.groupingBy(route -> route.destination().address()));
    final Map<IpAddress, List<NeighbourMessage>> realNeighbours =
        netlink.neighbours().stream().collect(Collectors.groupingBy(NeighbourMessage::address));
    final List<RouteRepair> repairs = new ArrayList<>();
    for (final WorkloadRoute route : routes) {
      final Integer index = indexes.get(route.interfaceName());
      if (index == null) {
        repairs.add(new RouteRepair(route, 0, "", noInterface(route.interfaceName())));
        continue;
      }
      final RouteDifference difference =
          RouteDifference.between(
              route.addresses().stream().map(address -> wantedRoute(address, index)).toList(),
              route.addresses().stream()
                  .map(address -> RouteDifference.wantedNeighbour(address, index, route.mac()))
                  .toList(),
              found(route, realRoutes),
              found(route, realNeighbours));
      if (!difference.isEmpty()) {
        final List<String> errors = changes(difference).make(netlink);
        repairs.add(
            new RouteRepair(
                route, difference.size(), difference.toString(), String.join("; ", errors)));
      }
    }
    return repairs;
  }

  private static <T> List<T> found(WorkloadRoute route, Map<IpAddress, List<T>> real) {
    return route.addresses().stream()
        .flatMap(address -> real.getOrDefault(address, List.of()).stream())
        .toList();
  }

  private static Map<String, Integer> indexes(RouteNetlink netlink) {
    return netlink.links().stream()
        .collect(Collectors.toMap(LinkMessage::name, LinkMessage::index, (a, b) -> b));
  }

  /** Returns the indexes of the devices to which the agent has added a route. */
  static Set<Integer> devices() {
    return NetlinkCall.run(
        netlink -> ownRoutes(netlink).map(RouteMessage::deviceIndex).collect(Collectors.toSet()));
  }

  private static Stream<RouteMessage> ownRoutes(RouteNetlink netlink) {
    return Stream.of(true, false)
        .flatMap(ipv4 -> netlink.routes(ipv4, RouteDifference.PROTOCOL).stream());
  }

  private static RouteChanges changes(RouteDifference difference) {
    final RouteChanges changes = new RouteChanges();
    difference.routesToRemove().forEach(route -> changes.remove(route.deleteRequest()));
    difference.routesToAdd().forEach(changes::add);
    difference.neighboursToReplace().forEach(n -> changes.change(n.replaceRequest()));
    difference.neighboursToRemove().forEach(n -> changes.remove(n.deleteRequest()));
    return changes;
  }
}
