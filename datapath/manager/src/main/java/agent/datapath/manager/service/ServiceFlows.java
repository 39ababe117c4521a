package agent.datapath.manager.service;

import agent.datapath.manager.conductor.EndpointEntries;
import agent.datapath.manager.spec.ServiceEntries;
import agent.datapath.manager.spec.ServiceEntries.Backend;
import agent.types.IpAddress;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * The flows that a change of a service concerns. They are judged again by their next packet, which
 * selects another backend where theirs has gone; other flows notice nothing. Called after the maps
 * are changed. For the conductor's thread.
 */
final class ServiceFlows {
  private final EndpointEntries endpoints;

  ServiceFlows(EndpointEntries endpoints) {
    this.endpoints = endpoints;
  }

  /**
   * Renews the flows to backends that the service has lost, and those to an address that has become
   * its frontend.
   *
   * @param former the service before; null where it is new
   * @param now the service after; null where it was removed
   */
  void changed(ServiceEntries former, ServiceEntries now) {
    final Set<IpAddress> addresses = concerned(former, now);
    if (!addresses.isEmpty()) {
      endpoints.renewFlows(addresses);
    }
  }

  /** Returns the addresses of the flows that a change concerns. */
  static Set<IpAddress> concerned(ServiceEntries former, ServiceEntries now) {
    final Set<IpAddress> addresses = new HashSet<>();
    if (former != null) {
      final List<Backend> kept = now == null ? List.of() : now.backends();
      former.backends().stream()
          .filter(backend -> backend.keepsItsFlows() && !isKept(backend, kept))
          .forEach(backend -> addresses.add(backend.address()));
    }
    if (now != null && (former == null || !former.hasSameFrontend(now))) {
      addresses.add(now.address());
    }
    return addresses;
  }

  /** Tells the programs whether there is a service; flows to one that has gone find their way. */
  void served(boolean hasServices) {
    endpoints.serve(hasServices);
  }

  /** Renews all flows: it is not known which services have changed. */
  void changed() {
    endpoints.renewFlows();
  }

  private static boolean isKept(Backend backend, List<Backend> by) {
    return by.stream()
        .anyMatch(
            other ->
                other.keepsItsFlows()
                    && other.port() == backend.port()
                    && other.address().equals(backend.address()));
  }
}
