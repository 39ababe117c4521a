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
 * @param forwarding how packets of clients outside reach backends on other hosts; null: as the
 *     options of the agent say
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
    ForwardingMode forwarding,
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
        null,
        affinitySec,
        name,
        namespace);
  }

  /** Returns the service as one that is offered elsewhere. */
  public Service offered(ServiceType where, boolean isLocalThere, ForwardingMode forwardedThere) {
    return new Service(
        id,
        frontend,
        backends,
        where,
        isLocal,
        isLocalThere,
        forwardedThere,
        affinitySec,
        name,
        namespace);
  }
}
