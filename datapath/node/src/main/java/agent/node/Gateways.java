package agent.node;

import agent.types.IpAddress;
import java.util.List;
import java.util.Set;

/** The gateways of workloads, which are addresses of the node. */
@FunctionalInterface
public interface Gateways {
  /** The device that has the addresses of the gateways. */
  String DEVICE = "lo";

  /**
   * Adds gateways again that another program removed: without them no route to a workload can be
   * added. Does not set the device up.
   *
   * @param present the present addresses of the node
   * @return the gateways that were missing and were added
   * @throws agent.types.OperationException with the kernel's message
   */
  List<IpAddress> keep(Set<IpAddress> present);
}
