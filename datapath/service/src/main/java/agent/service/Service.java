package agent.service;

import agent.types.EntrySource;
import java.util.List;
import java.util.Objects;

/**
 * A service.
 *
 * @param id its number, at least 1; {@link #UNNUMBERED} where its source has none for it
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
 * @param source who alone changes and removes it
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
    String namespace,
    EntrySource source) {
  /** The id of a service whose source has no number for it. */
  public static final int UNNUMBERED = 0;

  public Service {
    backends = List.copyOf(backends);
    Objects.requireNonNull(source, "source");
  }

  /** A service of the API for the node and its workloads. */
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
        namespace,
        EntrySource.API);
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
        namespace,
        source);
  }

  /** Returns the service with a number. */
  public Service numbered(int number) {
    return new Service(
        number,
        frontend,
        backends,
        type,
        isLocal,
        isLocalOutside,
        forwarding,
        affinitySec,
        name,
        namespace,
        source);
  }

  /** Returns the service as one of another source. */
  public Service from(EntrySource other) {
    return new Service(
        id,
        frontend,
        backends,
        type,
        isLocal,
        isLocalOutside,
        forwarding,
        affinitySec,
        name,
        namespace,
        other);
  }
}
