package agent.node;

import agent.bindings.Errno;
import agent.bindings.NetlinkException;
import agent.bindings.NetlinkRequest;
import agent.bindings.NetlinkSocket;
import agent.node.WorkloadRoutes.WorkloadRoute;
import agent.node.netlink.LinkMessage;
import agent.node.netlink.NeighbourMessage;
import agent.node.netlink.RouteMessage;
import agent.node.netlink.RouteNetlink;
import agent.types.IpAddress;
import agent.types.OperationException;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Manages workload routes by rtnetlink. The agent's routes and neighbours have its routing protocol
 * number, so that it recognizes them after a restart and removes no others.
 */
final class NetlinkWorkloadRoutes implements WorkloadRoutes {
  private final Sysctls sysctls;
  private final NodeAddressing addressing;

  NetlinkWorkloadRoutes(Sysctls sysctls, NodeAddressing addressing) {
    this.sysctls = sysctls;
    this.addressing = addressing;
  }

  /**
   * Requests that are sent together; additions may find the route present, removals may find it
   * missing.
   */
  private static final class Changes {
    private final List<NetlinkRequest> requests = new ArrayList<>();
    private final Map<Integer, RouteMessage> additions = new HashMap<>();
    private final Set<Integer> removals = new HashSet<>();

    void change(NetlinkRequest request) {
      requests.add(request);
    }

    void remove(NetlinkRequest request) {
      removals.add(requests.size());
      requests.add(request);
    }

    void add(RouteMessage route) {
      additions.put(requests.size(), route);
      requests.add(route.addRequest());
    }

    /** Sends the requests and returns the errors, empty on success. */
    List<String> make(RouteNetlink netlink) {
      final List<String> errors = new ArrayList<>();
      for (final NetlinkSocket.Failure failure : netlink.change(requests)) {
        final int errno = failure.cause().errno();
        final RouteMessage route = additions.get(failure.index());
        if (route != null && errno == Errno.EEXIST) {
          conflict(netlink, route, failure.cause()).ifPresent(errors::add);
        } else if (!removals.contains(failure.index()) || !isGone(errno)) {
          errors.add(failure.cause().getMessage());
        }
      }
      return errors;
    }

    /**
     * Returns whether the errno means that the route (ESRCH), the neighbour (ENOENT) or the device
     * (ENODEV) does not exist.
     */
    private static boolean isGone(int errno) {
      return errno == Errno.ESRCH || errno == Errno.ENOENT || errno == Errno.ENODEV;
    }
  }

  /** Returns an error for an existing route, unless the agent added it on the same device. */
  private static Optional<String> conflict(
      RouteNetlink netlink, RouteMessage wanted, NetlinkException cause) {
    final boolean ipv4 = wanted.destination().isIpv4();
    if (netlink.routes(ipv4, RouteDifference.PROTOCOL).stream()
        .filter(RouteDifference::isOwn)
        .filter(real -> real.destination().equals(wanted.destination()))
        .anyMatch(real -> real.deviceIndex() == wanted.deviceIndex())) {
      return Optional.empty();
    }
    final String others =
        netlink.routes(ipv4).stream()
            .filter(real -> real.destination().equals(wanted.destination()))
            .map(real -> shown(netlink, real))
            .collect(Collectors.joining(", "));
    return Optional.of(cause.getMessage() + ": another route is there: " + others);
  }

  private static String shown(RouteNetlink netlink, RouteMessage route) {
    final String device =
        netlink.link(route.deviceIndex()).map(link -> " through '" + link.name() + "'").orElse("");
    final String gateway = route.gateway() == null ? "" : " by " + route.gateway();
    return "of protocol " + route.protocol() + gateway + device;
  }

  @Override
  public void add(WorkloadRoute route) {
    final List<String> errors = NetlinkCall.run(netlink -> add(netlink, route));
    if (!errors.isEmpty()) {
      throw new OperationException(String.join("; ", errors));
    }
    forward(route);
  }

  private List<String> add(RouteNetlink netlink, WorkloadRoute route) {
    final LinkMessage link = netlink.link(route.interfaceName()).orElse(null);
    if (link == null) {
      return List.of(noInterface(route.interfaceName()));
    }
    final Changes changes = new Changes();
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
    return "there is no interface '" + name + "'";
  }

  /**
   * Enables IPv4 forwarding on the host side and disables its reverse path filter; IPv6 forwarding
   * is not set per device.
   */
  private void forward(WorkloadRoute route) {
    if (route.ipv4() != null) {
      sysctls.set("1", "ipv4", "conf", route.interfaceName(), "forwarding");
      sysctls.set("0", "ipv4", "conf", route.interfaceName(), "rp_filter");
    }
  }

  @Override
  public List<String> remove(WorkloadRoute route) {
    return onLink(
        route.interfaceName(),
        link -> {
          final Changes changes = new Changes();
          for (final IpAddress address : route.addresses()) {
            changes.remove(wantedRoute(address, link.index()).deleteRequest());
          }
          changes.remove(link.downRequest());
          return changes;
        });
  }

  @Override
  public List<String> setDown(String interfaceName) {
    return onLink(
        interfaceName,
        link -> {
          final Changes changes = new Changes();
          changes.remove(link.downRequest());
          return changes;
        });
  }

  /**
   * Applies changes to an interface; returns no error where it does not exist, because the kernel
   * removed its routes with it.
   */
  private static List<String> onLink(String name, Function<LinkMessage, Changes> changes) {
    try {
      return NetlinkCall.run(
          netlink ->
              netlink.link(name).map(link -> changes.apply(link).make(netlink)).orElse(List.of()));
    } catch (Refusal failure) {
      return List.of(failure.getMessage());
    }
  }

  @Override
  public List<String> synchronize(Collection<WorkloadRoute> routes) {
    try {
      return NetlinkCall.run(netlink -> synchronize(netlink, routes));
    } catch (Refusal failure) {
      return List.of(failure.getMessage());
    }
  }

  private List<String> synchronize(RouteNetlink netlink, Collection<WorkloadRoute> routes) {
    final Map<String, Integer> indexes =
        netlink.links().stream()
            .collect(Collectors.toMap(LinkMessage::name, LinkMessage::index, (a, b) -> b));
    final List<String> errors = new ArrayList<>();
    final List<RouteMessage> wantedRoutes = new ArrayList<>();
    final List<NeighbourMessage> wantedNeighbours = new ArrayList<>();
    for (final WorkloadRoute route : routes) {
      final Integer index = indexes.get(route.interfaceName());
      if (index == null) {
        errors.add(noInterface(route.interfaceName()));
        continue;
      }
      for (final IpAddress address : route.addresses()) {
        wantedRoutes.add(wantedRoute(address, index));
        wantedNeighbours.add(RouteDifference.wantedNeighbour(address, index, route.mac()));
      }
    }
    final RouteDifference difference =
        RouteDifference.between(
            wantedRoutes,
            wantedNeighbours,
            Stream.of(true, false)
                .flatMap(ipv4 -> netlink.routes(ipv4, RouteDifference.PROTOCOL).stream())
                .toList(),
            netlink.neighbours());
    final Changes changes = new Changes();
    difference.routesToRemove().forEach(route -> changes.remove(route.deleteRequest()));
    difference.routesToAdd().forEach(changes::add);
    difference.neighboursToReplace().forEach(n -> changes.change(n.replaceRequest()));
    difference.neighboursToRemove().forEach(n -> changes.remove(n.deleteRequest()));
    errors.addAll(changes.make(netlink));
    return errors;
  }
}
