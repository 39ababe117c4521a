package agent.node;

import agent.bindings.Errno;
import agent.bindings.net.NetlinkException;
import agent.bindings.net.NetlinkRequest;
import agent.bindings.net.NetlinkSocket;
import agent.node.netlink.RouteMessage;
import agent.node.netlink.RouteNetlink;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Requests that are sent together; additions may find the route present, removals may find it
 * missing.
 */
final class RouteChanges {
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
  static boolean isGone(int errno) {
    return errno == Errno.ESRCH || errno == Errno.ENOENT || errno == Errno.ENODEV;
  }

  /** Returns an error for an existing route, unless the agent added it on the same device. */
  private static Optional<String> conflict(
      RouteNetlink netlink, RouteMessage wanted, NetlinkException cause) {
    final boolean ipv4 = wanted.destination().isIpv4();
    if (netlink.routes(ipv4, RouteDifference.PROTOCOL, wanted.deviceIndex()).stream()
        .filter(RouteDifference::isOwn)
        .anyMatch(real -> real.destination().equals(wanted.destination()))) {
      return Optional.empty();
    }
    final String others =
        netlink.routes(ipv4).stream()
            .filter(real -> real.destination().equals(wanted.destination()))
            .map(real -> shown(netlink, real))
            .collect(Collectors.joining(", "));
    return Optional.of(cause.getMessage() + ": another route exists: " + others);
  }

  private static String shown(RouteNetlink netlink, RouteMessage route) {
    final String device =
        netlink.link(route.deviceIndex()).map(link -> " through '" + link.name() + "'").orElse("");
    final String gateway = route.gateway() == null ? "" : " by " + route.gateway();
    return "of protocol " + route.protocol() + gateway + device;
  }
}
