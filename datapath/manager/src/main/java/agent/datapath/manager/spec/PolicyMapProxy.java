package agent.datapath.manager.spec;

import java.util.Collection;
import java.util.concurrent.CompletableFuture;

/**
 * Writes policy maps of endpoints. Threads, order and failures are those of {@link EndpointProxy}.
 */
public interface PolicyMapProxy {
  /** Writes a change to an existing policy map, and raises the generation of the endpoint. */
  CompletableFuture<Void> apply(int endpointId, PolicyDelta delta);

  /**
   * Compares the policy map of the kernel with the desired entries and writes the difference.
   * Creates the map where it is missing.
   *
   * @return the written difference
   */
  CompletableFuture<PolicyDelta> synchronize(int endpointId, Collection<PolicyEntry> desired);
}
