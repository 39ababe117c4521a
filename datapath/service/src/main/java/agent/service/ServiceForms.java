package agent.service;

import agent.datapath.spec.ServiceEntries;
import agent.maps.layout.BackendState;
import agent.maps.layout.ServiceForwarding;
import agent.maps.layout.ServiceScope;
import java.util.List;
import java.util.Set;

/** The form in which the datapath has services. Immutable. */
final class ServiceForms {
  private static final Set<ServiceScope> INSIDE = Set.of(ServiceScope.INSIDE);
  private static final Set<ServiceScope> OUTSIDE = Set.of(ServiceScope.OUTSIDE);
  private static final Set<ServiceScope> BOTH = Set.of(ServiceScope.values());

  private final String nodeName;
  private final ServiceForwarding usualForwarding;

  /**
   * Creates the forms of a node.
   *
   * @param nodeName the name of this node in {@link Backend#nodeName()}
   * @param usualForwarding of services for clients outside that do not say it
   */
  ServiceForms(String nodeName, ServiceForwarding usualForwarding) {
    this.nodeName = nodeName;
    this.usualForwarding = usualForwarding;
  }

  /** Returns the id in the datapath of a service for clients outside alone. */
  static int outside(int id) {
    return id | ServiceEntries.OUTSIDE_ID;
  }

  /** Returns how new flows of clients outside reach backends of a service on other hosts. */
  ServiceForwarding forwarding(Service service) {
    return service.forwarding() == null ? usualForwarding : service.forwarding().forwarding();
  }

  /** Returns that of services that do not say it. */
  ServiceForwarding usualForwarding() {
    return usualForwarding;
  }

  /** Returns whether other backends serve clients outside than those of the node. */
  boolean hasOthersOutside(Service service) {
    return service.type().isOutside()
        && service.isLocal() != service.isLocalOutside()
        && !inside(service).equals(offered(service));
  }

  private List<Backend> inside(Service service) {
    return service.isLocal() ? served(service) : service.backends();
  }

  /** Returns the backends for clients outside. */
  private List<Backend> offered(Service service) {
    return service.isLocalOutside() ? served(service) : service.backends();
  }

  private List<Backend> served(Service service) {
    return service.backends().stream()
        .filter(backend -> nodeName.equals(backend.nodeName()))
        .toList();
  }

  /** Returns a service as the datapath has it: two where other backends serve clients outside. */
  List<ServiceEntries> entriesOf(Service service) {
    final int id = service.id();
    if (!service.type().isOutside()) {
      return List.of(entriesOf(service, id, INSIDE, inside(service)));
    }
    if (!hasOthersOutside(service)) {
      return List.of(entriesOf(service, id, BOTH, inside(service)));
    }
    return List.of(
        entriesOf(service, id, INSIDE, inside(service)),
        entriesOf(service, outside(id), OUTSIDE, offered(service)));
  }

  private ServiceEntries entriesOf(
      Service service, int id, Set<ServiceScope> scopes, List<Backend> backends) {
    return new ServiceEntries(
        id,
        service.frontend().address(),
        service.frontend().port(),
        service.frontend().protocol().numbers(),
        service.affinitySec(),
        scopes,
        scopes.contains(ServiceScope.OUTSIDE) ? forwarding(service) : ServiceForwarding.DEFAULT,
        backends.stream()
            .map(
                backend ->
                    new ServiceEntries.Backend(
                        backend.address(),
                        backend.port(),
                        BackendState.valueOf(backend.state().name()),
                        backend.weight()))
            .toList());
  }
}
