package agent.node;

import java.util.Collection;
import java.util.List;

/**
 * The routes and neighbours of workloads. The agent removes only routes and neighbours that it
 * added; a route to the same address that another program added is reported as a failure and not
 * changed.
 */
public interface WorkloadRoutes {
  /**
   * Sets the host side up and adds the routes and permanent neighbours of a workload. Idempotent.
   *
   * @param route the workload
   * @throws agent.types.OperationException with the kernel's message; routes added before the
   *     failure stay, and another call adds the rest
   */
  void add(WorkloadRoute route);

  /**
   * Removes the routes and neighbours of a workload and sets the host side down. Idempotent.
   *
   * @param route the workload
   * @return the errors, empty on success
   */
  List<String> remove(WorkloadRoute route);

  /**
   * Sets the host side of a workload down, so that it forwards no packet. An interface that does
   * not exist is not an error.
   *
   * @param interfaceName the host side
   * @return the errors, empty on success
   */
  List<String> setDown(String interfaceName);

  /**
   * Synchronizes the agent's routes and neighbours with these workloads: adds missing ones and
   * removes those of other workloads that the agent added in this run or a previous one. It does
   * not set interfaces up.
   *
   * @param routes the routes of all workloads
   * @return the errors, empty on success
   */
  List<String> synchronize(Collection<WorkloadRoute> routes);
}
