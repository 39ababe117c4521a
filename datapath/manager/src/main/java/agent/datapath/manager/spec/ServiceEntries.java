package agent.datapath.manager.spec;

import agent.maps.layout.BackendState;
import agent.types.IpAddress;
import java.util.List;

/**
 * A service as the datapath knows it.
 *
 * @param id its number, which other entries of the maps refer to
 * @param address the address that clients use
 * @param port the port that clients use
 * @param protocols the protocol numbers that clients use
 * @param affinitySec how long a client keeps its backend after its last connection; 0: not at all
 * @param backends those that serve it, each address and port once
 */
public record ServiceEntries(
    int id,
    IpAddress address,
    int port,
    List<Integer> protocols,
    int affinitySec,
    List<Backend> backends) {
  public ServiceEntries {
    protocols = List.copyOf(protocols);
    backends = List.copyOf(backends);
  }

  /** Returns whether clients use the same address, port and protocols. */
  public boolean hasSameFrontend(ServiceEntries other) {
    return address.equals(other.address) && port == other.port && protocols.equals(other.protocols);
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
