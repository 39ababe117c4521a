package agent.endpoint;

import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * The endpoints of this node, as the doors see them. Safe for every thread. Reads come from
 * immutable snapshots and never wait; a change is queued to {@code ep-conductor} and its future
 * completes there, with the new snapshot or exceptionally with a {@link agent.types.Refusal}. What
 * a future returns is stored already.
 */
public interface Endpoints {
  /**
   * Creates an endpoint. With {@code sync-build-endpoint} the future completes when it is enforced,
   * otherwise as soon as it is accepted and stored.
   *
   * @param id the identifier of the path; local id 0 and other prefixes have the id allocated
   * @param request the body; identifiers that it repeats must agree with the path
   * @return the endpoint, or Refusal INVALID, CONFLICT (id, address or interface in use),
   *     EXHAUSTED, DISABLED (address family), or FAILED (built with {@code sync-build-endpoint} and
   *     failed; the endpoint is removed again)
   */
  CompletableFuture<EndpointSnapshot> create(EndpointIdentifier id, EndpointRequest request);

  /**
   * Changes what the request names and leaves the rest.
   *
   * @param id the endpoint
   * @param request the body; absent fields are left as they are
   * @return the endpoint, or Refusal NOT_FOUND, INVALID, CONFLICT, FAILED
   */
  CompletableFuture<EndpointSnapshot> modify(EndpointIdentifier id, EndpointRequest request);

  /**
   * Removes an endpoint and frees all that is its own. It is gone even where errors were met.
   *
   * @param id the endpoint
   * @return the errors met, empty for a clean removal; or Refusal NOT_FOUND
   */
  CompletableFuture<List<String>> delete(EndpointIdentifier id);

  /**
   * Removes all endpoints with this container id.
   *
   * @param containerId the runtime's id
   * @return the errors met; or Refusal INVALID without an id, NOT_FOUND where nothing has it
   */
  CompletableFuture<List<String>> deleteByContainerId(String containerId);

  /**
   * Changes the mutable configuration, all or nothing, and regenerates the endpoint.
   *
   * @param id the endpoint
   * @param options option name to value; null leaves the options
   * @param userLabels the user labels from now on; null leaves them
   * @return the endpoint, or Refusal NOT_FOUND, INVALID (unknown or immutable option, bad value),
   *     FAILED (the previous programs stay attached)
   */
  CompletableFuture<EndpointSnapshot> configure(
      EndpointIdentifier id, Map<String, String> options, List<String> userLabels);

  /**
   * Replaces the user labels; the identity and the policy follow before the future completes.
   *
   * @param id the endpoint
   * @param userLabels the user labels from now on
   * @return the endpoint, or Refusal NOT_FOUND, INVALID, FAILED
   */
  CompletableFuture<EndpointSnapshot> setUserLabels(EndpointIdentifier id, List<String> userLabels);

  /**
   * One endpoint: its log, health, labels and configuration are parts of the snapshot.
   *
   * @param id the endpoint
   * @return its snapshot
   * @throws agent.types.Refusal NOT_FOUND
   */
  EndpointSnapshot get(EndpointIdentifier id);

  /**
   * The endpoints that have all these labels, by ascending id.
   *
   * @param labels labels in display form; empty selects all
   * @return the snapshots
   * @throws agent.types.Refusal INVALID for a malformed label, NOT_FOUND where labels were given
   *     and nothing matches
   */
  List<EndpointSnapshot> list(List<String> labels);
}
