package agent.datapath.manager.service;

import agent.datapath.manager.conductor.EndpointEntries;
import agent.datapath.spec.ServiceEntries;
import agent.datapath.spec.ServiceEntries.Backend;
import agent.types.IpAddress;
import java.util.HashSet;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The flows that a change of a service concerns. They are judged again by their next packet, which
 * selects another backend where theirs has gone; other flows notice nothing. Called after the maps
 * are changed. For the conductor's thread.
 */
final class ServiceFlows {
  private final EndpointEntries endpoints;

  private record Target(IpAddress address, int port) {}

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

  /** Returns whether the service has had a backend whose flows may stay no longer. */
  static boolean losesBackends(ServiceEntries former, ServiceEntries now) {
    return former != null
        && !(now == null ? Set.<Target>of() : targets(now)).containsAll(targets(former));
  }

  /** Returns the addresses of the flows that a change concerns. */
  static Set<IpAddress> concerned(ServiceEntries former, ServiceEntries now) {
    final Set<IpAddress> addresses = new HashSet<>();
    if (former != null) {
      final Set<Target> kept = now == null ? Set.of() : targets(now);
      for (final Target target : targets(former)) {
        if (!kept.contains(target)) {
          addresses.add(target.address());
        }
      }
    }
    if (now != null && (former == null || !former.hasSameFrontend(now))) {
      addresses.add(now.address());
    }
    return addresses;
  }

  /**
   * Sets for the programs whether there is a service; flows to one that has gone find their way.
   */
  void served(boolean hasServices) {
    endpoints.serve(hasServices);
  }

  /** Renews all flows: it is not known which services have changed. */
  void changed() {
    endpoints.renewFlows();
  }

  /** Returns where the flows of a service may go. */
  private static Set<Target> targets(ServiceEntries service) {
    return service.backends().stream()
        .filter(Backend::keepsItsFlows)
        .map(backend -> new Target(backend.address(), backend.port()))
        .collect(Collectors.toSet());
  }
}
