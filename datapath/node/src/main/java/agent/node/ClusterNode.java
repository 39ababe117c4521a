package agent.node;

import agent.types.IpAddress;
import java.util.List;

/**
 * A node of the cluster.
 *
 * @param name cluster and node, separated by a slash
 * @param addressing its primary addresses and the ranges of its workloads
 * @param secondary its other addresses
 * @param source where it is known from: {@code local} for this node
 */
public record ClusterNode(
    String name, NodeAddressing addressing, List<IpAddress> secondary, String source) {
  /** The source of the node that this agent runs on. */
  public static final String LOCAL = "local";

  /** Copies the list. */
  public ClusterNode {
    secondary = List.copyOf(secondary);
  }

  /** Returns the node that this agent runs on, with the addresses that it has now. */
  public static ClusterNode local(
      String name, NodeAddressing addressing, List<LocalAddress> present) {
    return new ClusterNode(
        name,
        addressing,
        present.stream()
            .filter(address -> !address.isLoopback() && !address.isLinkLocal())
            .map(LocalAddress::address)
            .filter(address -> !address.equals(addressing.family(address).node()))
            .distinct()
            .sorted()
            .toList(),
        LOCAL);
  }
}
