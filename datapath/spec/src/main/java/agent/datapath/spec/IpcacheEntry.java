package agent.datapath.spec;

import agent.types.Prefix;
import java.util.Objects;

/**
 * One entry of the ipcache ({@code maps/ipcache_map.h}).
 *
 * @param prefix the address prefix
 * @param identity security identity of its addresses
 * @param endpointId id of the endpoint of this node that has the address, or 0
 * @param isHost whether it is an address of this node
 */
public record IpcacheEntry(Prefix prefix, int identity, int endpointId, boolean isHost) {
  /** The identity of this node. */
  private static final int NODE = 1;

  /** Checks the endpoint id. */
  public IpcacheEntry {
    Objects.requireNonNull(prefix, "prefix");
    if (endpointId != 0) {
      EndpointSpec.requireId(endpointId);
    }
  }

  /** Returns the source of such an entry. */
  public IpcacheSource source() {
    if (endpointId != 0) {
      return IpcacheSource.ENDPOINT;
    }
    return identity == NODE ? IpcacheSource.NODE : IpcacheSource.OUTSIDE;
  }
}
