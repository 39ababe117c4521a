package agent.service;

import java.util.List;

/**
 * A service.
 *
 * @param id its number, at least 1
 * @param frontend the address that clients use
 * @param backends those that serve it
 * @param isLocal whether only backends on this node serve it
 * @param affinitySec how long a client keeps its backend after its last connection; 0: not at all
 * @param name its name; null where it has none
 * @param namespace the namespace of its name; null where it has none
 */
public record Service(
    int id,
    Frontend frontend,
    List<Backend> backends,
    boolean isLocal,
    int affinitySec,
    String name,
    String namespace) {
  public Service {
    backends = List.copyOf(backends);
  }
}
