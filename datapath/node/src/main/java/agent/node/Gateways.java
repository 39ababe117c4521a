package agent.node;

import agent.types.IpAddress;
import java.util.List;
import java.util.Set;

/** The workloads' gateways, which the node owns. */
@FunctionalInterface
public interface Gateways {
  /**
   * Gives the node the gateways back that somebody took from it: without them no route to a
   * workload can be added.
   *
   * @param present the node's addresses now
   * @return the gateways that were not among them, and are now
   * @throws agent.types.Refusal FAILED with the kernel's message
   */
  List<IpAddress> keep(Set<IpAddress> present);
}
