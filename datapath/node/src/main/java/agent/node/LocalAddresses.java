package agent.node;

import agent.types.IpAddress;
import java.util.List;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;

/** The addresses of the node, read from the kernel at each call. */
public interface LocalAddresses {
  /** Returns every address of every device. */
  List<LocalAddress> all();

  /**
   * Returns the device of the default route of the main table; of several default routes, the one
   * with the lowest metric.
   *
   * @param ipv4 true for IPv4, false for IPv6
   * @return the device's name, or empty where there is no default route
   */
  Optional<String> defaultDevice(boolean ipv4);

  /**
   * Returns the addresses by which a workload reaches this node: all addresses except loopback and
   * IPv6 link-local ones, and the IPv4 broadcast addresses of its networks, whose packets its
   * sockets receive.
   *
   * @return the addresses, sorted
   */
  default SortedSet<IpAddress> reachable() {
    final SortedSet<IpAddress> addresses = new TreeSet<>();
    for (final LocalAddress local : all()) {
      if (!local.isLoopback() && (local.address().isIpv4() || !local.isLinkLocal())) {
        addresses.add(local.address());
        local.broadcast().ifPresent(addresses::add);
      }
    }
    return addresses;
  }
}
