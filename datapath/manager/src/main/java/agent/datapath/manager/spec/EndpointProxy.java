package agent.datapath.manager.spec;

import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/**
 * Attaches and detaches the endpoints of this node. Thread-safe. Commands are executed on {@code
 * dp-conductor} in the order of submission; an attachment that waits for its programs does not
 * delay other commands. Every future is completed on that thread, so that dependent actions must be
 * short or run on another thread. A failed command completes its future exceptionally, with an
 * {@link agent.types.Refusal} EXHAUSTED where a map is full and UNAVAILABLE after close.
 */
public interface EndpointProxy {
  /**
   * Starts loading the endpoint's programs before {@link #attach}, which then completes sooner.
   * Where no program is attached to the interface yet, programs that drop all packets are attached
   * until then. Calling it is optional.
   *
   * @return completes when loading has started
   */
  CompletableFuture<Void> prepare(EndpointSpec endpoint);

  /**
   * Loads and attaches the endpoint's programs, or atomically replaces the attached ones. Creates
   * its policy map where it is missing. An empty policy map drops all packets: write the policy
   * first by {@link PolicyMapProxy#synchronize}. On failure the previous programs stay attached.
   */
  CompletableFuture<Void> attach(EndpointSpec endpoint);

  /**
   * Removes the endpoint's programs, links, pins, policy map and entry. An unknown endpoint is not
   * an error. The module {@code datapath/ipcache} removes its ipcache entries.
   *
   * @return one message for each failure
   */
  CompletableFuture<List<String>> detach(int endpointId);

  /** Writes a new identity to the endpoint's entry and raises its generation. */
  CompletableFuture<Void> setIdentity(int endpointId, int identity);

  /**
   * Returns the ids of endpoints that have a policy map, an entry or programs, including those of a
   * previous run.
   */
  CompletableFuture<Set<Integer>> known();

  /** Returns the index of an endpoint's host-side interface, or 0 where it has no entry. */
  CompletableFuture<Integer> interfaceOf(int endpointId);
}
