package agent.node;

import agent.types.Prefix;
import java.util.List;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;

/** The addresses of the node, read from the kernel at each call. */
public interface LocalAddresses {
  /** Returns every address of every device. */
  List<LocalAddress> all();

  /**
   * Returns the destinations whose packets the kernel delivers to the node itself: its addresses,
   * broadcast addresses, IPv6 anycast addresses of its networks, and prefixes that an operator
   * added to the local routing table. A prefix may occur several times.
   */
  List<Prefix> routedHere();

  /**
   * Returns the device of the default route of the main table; of several default routes, the one
   * with the lowest metric.
   *
   * @param ipv4 true for IPv4, false for IPv6
   * @return the device's name, or empty where there is no default route
   */
  Optional<String> defaultDevice(boolean ipv4);

  /**
   * Returns the prefixes by which a workload reaches this node: the destinations of the local
   * routing table, and addresses that have no route there yet. IPv6 link-local ones are omitted:
   * they are valid on one link only, and hosts of other links may have the same.
   *
   * @return the prefixes, sorted
   */
  default SortedSet<Prefix> reachable() {
    final SortedSet<Prefix> prefixes = new TreeSet<>();
    for (final LocalAddress local : all()) {
      prefixes.add(Prefix.of(local.address()));
      local.broadcast().map(Prefix::of).ifPresent(prefixes::add);
    }
    prefixes.addAll(routedHere());
    prefixes.removeIf(prefix -> !isReachable(prefix));
    return prefixes;
  }

  /** Returns whether a prefix of the local routing table is reachable from other links. */
  static boolean isReachable(Prefix prefix) {
    return !LocalAddress.LINK_LOCAL6.covers(prefix);
  }
}
