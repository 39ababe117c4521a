package agent.node;

import agent.types.IpAddress;
import java.util.List;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;

/** What the node is addressed by, read from the kernel at each call. */
public interface LocalAddresses {
  /** Every address of every device. */
  List<LocalAddress> all();

  /**
   * The device that the default route goes through.
   *
   * @param ipv4 of IPv4, otherwise of IPv6
   * @return the device's name
   */
  Optional<String> defaultDevice(boolean ipv4);

  /**
   * The addresses that mean this node to a workload: all but loopback ones and IPv6 link-local
   * ones, which each link has; and the IPv4 broadcast addresses of its networks, which its sockets
   * hear.
   *
   * @return the addresses in order
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
