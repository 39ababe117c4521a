package agent.node;

import java.util.Collection;
import java.util.List;

/**
 * The routes and neighbours that lead to workloads. Only what was added here is ever removed; a
 * route to the same address that somebody else added is a failure, and stays.
 */
public interface WorkloadRoutes {
  /**
   * Brings the host side up, and adds the routes and permanent neighbours of a workload. Adding
   * what is there already changes nothing.
   *
   * @param route the workload
   * @throws agent.types.Refusal FAILED with the kernel's message; what was added before stays, so
   *     that adding again completes it
   */
  void add(WorkloadRoute route);

  /**
   * Cuts a workload off: removes its routes and neighbours and takes the host side down. What is
   * gone already is no error.
   *
   * @param route the workload
   * @return what went wrong, empty where all is removed
   */
  List<String> remove(WorkloadRoute route);

  /**
   * Takes the host side of a workload down, so that nothing of it passes any more. One that is gone
   * is no error.
   *
   * @param interfaceName the host side
   * @return what went wrong, empty where it is down
   */
  List<String> cutOff(String interfaceName);

  /**
   * Makes the routes those of these workloads: adds what is missing, removes what an earlier life
   * of the agent added for others.
   *
   * @param routes every workload that has routes
   * @return what went wrong, empty where all is in place
   */
  List<String> synchronize(Collection<WorkloadRoute> routes);
}
