package agent.endpoint.watch;

import agent.conductor.Repairs;
import agent.datapath.spec.EndpointFaults.Fault;
import agent.datapath.spec.EndpointFaults.Part;
import agent.endpoint.state.Endpoint;
import agent.endpoint.watch.NodeWatch.EndpointOwners;
import agent.node.WorkloadRoutes;
import agent.node.WorkloadRoutes.RouteRepair;
import agent.node.WorkloadRoutes.WorkloadRoute;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Adds routes and neighbours of endpoints again that another program removed or changed. The route
 * of another program to the same address stays, and is the fault of the endpoint until it is
 * removed. Runs on the conductor's thread.
 */
final class RouteWatch {
  private static final Logger LOGGER = LogManager.getLogger(RouteWatch.class);

  private final EndpointOwners endpoints;
  private final WorkloadRoutes routes;
  private final Repairs repairs;
  private final Set<Endpoint> marked = new LinkedHashSet<>();

  RouteWatch(EndpointOwners endpoints, WorkloadRoutes routes, Repairs repairs) {
    this.endpoints = endpoints;
    this.routes = routes;
    this.repairs = repairs;
  }

  /** Marks an endpoint whose routes may have changed. */
  void mark(Endpoint endpoint) {
    marked.add(endpoint);
  }

  /** Returns whether an endpoint is marked. */
  boolean isMarked() {
    return !marked.isEmpty();
  }

  /** Repairs the routes of the marked endpoints. */
  void repairMarked() {
    if (!marked.isEmpty()) {
      final List<Endpoint> some = List.copyOf(marked);
      marked.clear();
      repair(some);
    }
  }

  /** Compares the routes of these endpoints with the kernel and repairs them. */
  void repair(Collection<Endpoint> some) {
    final Map<WorkloadRoute, Endpoint> wanted = new HashMap<>();
    for (final Endpoint endpoint : some) {
      if (isRouted(endpoint)) {
        wanted.put(endpoint.route(), endpoint);
      } else {
        endpoints.journal().routeFault(endpoint, null);
      }
    }
    final List<Endpoint> right = new ArrayList<>(wanted.values());
    for (final RouteRepair repair : routes.repair(wanted.keySet())) {
      final Endpoint endpoint = wanted.get(repair.route());
      if (!repair.error().isEmpty()) {
        right.remove(endpoint);
        endpoints.journal().routeFault(endpoint, new Fault(Part.PROGRAMS, false, repair.error()));
      } else {
        repairs.count(Repairs.Kind.ROUTE, repair.differences());
        LOGGER.warn("endpoint {}: route: {}; repaired", endpoint.id(), repair.found());
      }
    }
    right.forEach(endpoint -> endpoints.journal().routeFault(endpoint, null));
  }

  /** Returns whether the endpoint has routes, and an interface that is up. */
  private boolean isRouted(Endpoint endpoint) {
    return endpoints.registry().holds(endpoint)
        && endpoint.isLive()
        && endpoint.route() != null
        && (endpoint.interfaceFault() == null || endpoint.interfaceFault().isRepairable());
  }
}
