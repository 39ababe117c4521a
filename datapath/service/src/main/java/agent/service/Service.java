package agent.service;

import java.util.List;

/**
 * A service.
 *
 * @param id its number, at least 1
 * @param frontend the address that clients use
 * @param backends those that serve it
 * @param type where it is offered
 * @param isLocal whether only backends on this node serve the node and its workloads
 * @param isLocalOutside whether only backends on this node serve clients outside
 * @param affinitySec how long a client keeps its backend after its last connection; 0: not at all
 * @param name its name; null where it has none
 * @param namespace the namespace of its name; null where it has none
 */
public record Service(
    int id,
    Frontend frontend,
    List<Backend> backends,
    ServiceType type,
    boolean isLocal,
    boolean isLocalOutside,
    int affinitySec,
    String name,
    String namespace) {
  public Service {
    backends = List.copyOf(backends);
  }

  /** A service for the node and its workloads. */
  public Service(
      int id,
      Frontend frontend,
      List<Backend> backends,
      boolean isLocal,
      int affinitySec,
      String name,
      String namespace) {
    this(
        id,
        frontend,
        backends,
        ServiceType.CLUSTER_IP,
        isLocal,
        false,
        affinitySec,
        name,
        namespace);
  }

  /** Returns the service as one that is offered elsewhere. */
  public Service offered(ServiceType where, boolean isLocalThere) {
    return new Service(
        id, frontend, backends, where, isLocal, isLocalThere, affinitySec, name, namespace);
  }
}
