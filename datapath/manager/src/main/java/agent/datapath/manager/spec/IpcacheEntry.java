package agent.datapath.manager.spec;

import agent.types.Prefix;
import java.util.Objects;

/**
 * What an address prefix stands for ({@code maps/ipcache_map.h}).
 *
 * @param prefix the addresses
 * @param identity their security identity
 * @param endpointId the endpoint of this node that has the address, or 0
 * @param isHost whether it is an address of this node
 */
public record IpcacheEntry(Prefix prefix, int identity, int endpointId, boolean isHost) {
  /** Checks the endpoint id. */
  public IpcacheEntry {
    Objects.requireNonNull(prefix, "prefix");
    if (endpointId != 0) {
      EndpointSpec.requireId(endpointId);
    }
  }
}
