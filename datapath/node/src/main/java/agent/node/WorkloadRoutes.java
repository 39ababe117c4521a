package agent.node;

import agent.types.IpAddress;
import agent.types.MacAddress;
import java.util.Collection;
import java.util.List;
import java.util.stream.Stream;

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
   * Removes the routes of a workload; the interface stays up. Idempotent.
   *
   * @param route the workload
   * @return the errors, empty on success
   */
  List<String> withdraw(WorkloadRoute route);

  /**
   * Compares the routes and neighbours of these workloads with the kernel, adds missing ones and
   * replaces those of the agent that differ. It does not change those of other workloads, and sets
   * no interface up.
   *
   * @param routes the workloads, whose interfaces are up
   * @return what was found, for each workload with a difference
   * @throws agent.types.OperationException where the kernel's routes cannot be read
   */
  List<RouteRepair> repair(Collection<WorkloadRoute> routes);

  /**
   * Sets the host side of a workload down, so that it forwards no packet. An interface that does
   * not exist is not an error.
   *
   * @param interfaceName the host side
   * @return the errors, empty on success
   */
  List<String> setDown(String interfaceName);

  /**
   * Sets the host side of a workload up. {@link #add} does so too.
   *
   * @param interfaceName the host side
   * @throws agent.types.OperationException with the kernel's message
   */
  void setUp(String interfaceName);

  /**
   * Synchronizes the agent's routes and neighbours with these workloads: adds missing ones and
   * removes those of other workloads that the agent added in this run or a previous one. It does
   * not set interfaces up; those that are down get no routes.
   *
   * @param routes the routes of all workloads
   * @return the errors, empty on success
   */
  List<String> synchronize(Collection<WorkloadRoute> routes);

  /**
   * The route of the node's stack to one workload, through the host side of its veth.
   *
   * @param interfaceName the host side of the veth
   * @param mac the workload's hardware address
   * @param ipv4 the workload's IPv4 address, or null
   * @param ipv6 the workload's IPv6 address, or null
   */
  record WorkloadRoute(String interfaceName, MacAddress mac, IpAddress ipv4, IpAddress ipv6) {
    /** Returns the addresses that are not null, IPv4 first. */
    public List<IpAddress> addresses() {
      return Stream.of(ipv4, ipv6).filter(address -> address != null).toList();
    }
  }

  /**
   * The result of {@link #repair} for one workload.
   *
   * @param route the workload
   * @param differences the number of routes and neighbours that differed
   * @param found what differed
   * @param error why it is not repaired, or empty
   */
  record RouteRepair(WorkloadRoute route, int differences, String found, String error) {}
}
