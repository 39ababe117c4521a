package agent.datapath.spec;

import agent.maps.layout.BackendState;
import agent.maps.layout.ServiceForwarding;
import agent.maps.layout.ServiceScope;
import agent.types.IpAddress;
import java.util.List;
import java.util.Set;

/**
 * A service as the datapath knows it.
 *
 * @param id its number, which other entries of the maps refer to
 * @param address the address that clients use
 * @param port the port that clients use
 * @param protocols the protocol numbers that clients use
 * @param affinitySec how long a client keeps its backend after its last connection; 0: not at all
 * @param scopes whose packets it takes, at least one
 * @param forwarding how packets of clients outside reach backends on other hosts
 * @param backends those that serve it, each address and port once
 */
public record ServiceEntries(
    int id,
    IpAddress address,
    int port,
    List<Integer> protocols,
    int affinitySec,
    Set<ServiceScope> scopes,
    ServiceForwarding forwarding,
    List<Backend> backends) {
  /** In addition in the id of a service for those outside, where other backends serve those. */
  public static final int OUTSIDE_ID = 1 << 31; // SERVICE_OUTSIDE_ID in maps/service_map.h

  public ServiceEntries {
    protocols = List.copyOf(protocols);
    scopes = Set.copyOf(scopes);
    backends = List.copyOf(backends);
  }

  /** A service whose forwarding is the default. */
  public ServiceEntries(
      int id,
      IpAddress address,
      int port,
      List<Integer> protocols,
      int affinitySec,
      Set<ServiceScope> scopes,
      List<Backend> backends) {
    this(id, address, port, protocols, affinitySec, scopes, ServiceForwarding.DEFAULT, backends);
  }

  /** A service for the node and its workloads. */
  public ServiceEntries(
      int id,
      IpAddress address,
      int port,
      List<Integer> protocols,
      int affinitySec,
      List<Backend> backends) {
    this(id, address, port, protocols, affinitySec, Set.of(ServiceScope.INSIDE), backends);
  }

  /** Returns whether the same clients use the same address, port and protocols. */
  public boolean hasSameFrontend(ServiceEntries other) {
    return address.equals(other.address)
        && port == other.port
        && protocols.equals(other.protocols)
        && scopes.equals(other.scopes);
  }

  /**
   * One that serves.
   *
   * @param address its address
   * @param port its port
   * @param state what the service does with it
   * @param weight its share of new connections among those of {@link BackendState#ACTIVE} ones; 0
   *     for none
   */
  public record Backend(IpAddress address, int port, BackendState state, int weight) {
    /** Returns whether it keeps the connections that it has. */
    public boolean keepsItsFlows() {
      return state == BackendState.ACTIVE || state == BackendState.TERMINATING;
    }

    /** Returns whether new connections go to it. */
    public boolean takesNew() {
      return state == BackendState.ACTIVE && weight > 0;
    }
  }
}
