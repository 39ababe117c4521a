package agent.endpoint;

import agent.endpoint.request.EndpointRequest;
import agent.endpoint.state.EndpointIdentifier;
import agent.endpoint.state.EndpointSnapshot;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * The API of this node's endpoints, for one source: what it creates is of this source, and an
 * endpoint of another one is read, but not changed or deleted: CONFLICT with that source, or
 * UNAVAILABLE where the record cannot be read, which the source "api" may delete. Thread-safe.
 * Reads return immutable snapshots and never wait. A change is queued to {@code ep-conductor}; its
 * future completes on that thread with the new snapshot, or exceptionally with a {@link
 * agent.types.Refusal}. A change is stored before its future completes.
 */
public interface Endpoints {
  /**
   * Creates an endpoint. With {@code sync-build-endpoint} the future completes when its policy is
   * enforced, otherwise when the endpoint is accepted and stored.
   *
   * @param id the identifier of the path; with local id 0 or another prefix the id is allocated
   * @param request the body; identifiers that it repeats must agree with the path
   * @return the endpoint, or Refusal INVALID, CONFLICT (id, address or interface in use),
   *     EXHAUSTED, DISABLED (address family), or OperationException (where the workload cannot be
   *     closed, or with {@code sync-build-endpoint} where the build failed; the endpoint is removed
   *     again). The workload is closed before the future completes, and stays closed until its
   *     policy is enforced
   */
  CompletableFuture<EndpointSnapshot> create(EndpointIdentifier id, EndpointRequest request);

  /**
   * Changes the fields that the request names. With {@code sync-build-endpoint} the future
   * completes when the change is enforced, and a change that cannot be is undone as a whole;
   * otherwise it completes when the change is stored, and a failed build is repeated.
   *
   * @param id the endpoint
   * @param request the body; absent fields are not changed
   * @return the endpoint, or Refusal NOT_FOUND, INVALID, CONFLICT, or OperationException
   */
  CompletableFuture<EndpointSnapshot> modify(EndpointIdentifier id, EndpointRequest request);

  /**
   * Removes an endpoint and releases its resources. Where a step fails, the endpoint stays in state
   * disconnecting and the removal is repeated until it has finished, also after a restart of the
   * agent.
   *
   * @param id the endpoint
   * @return the errors, empty where the endpoint is removed; or Refusal NOT_FOUND, CONFLICT
   */
  CompletableFuture<List<String>> delete(EndpointIdentifier id);

  /**
   * Removes all endpoints with this container id, or none where one is of another source.
   *
   * @param containerId the runtime's id
   * @return the errors; or Refusal INVALID for an empty id, NOT_FOUND where no endpoint has it,
   *     CONFLICT
   */
  CompletableFuture<List<String>> deleteByContainerId(String containerId);

  /**
   * Changes the mutable configuration, all or nothing, and regenerates the endpoint.
   *
   * @param id the endpoint
   * @param options option name to value; null does not change the options
   * @param userLabels the new user labels; null does not change them
   * @return the endpoint, or Refusal NOT_FOUND, CONFLICT, INVALID (unknown or immutable option, bad
   *     value), or OperationException (the change is undone)
   */
  CompletableFuture<EndpointSnapshot> configure(
      EndpointIdentifier id, Map<String, String> options, List<String> userLabels);

  /**
   * Replaces the user labels. The new identity and policy are in effect when the future completes.
   *
   * @param id the endpoint
   * @param userLabels the new user labels
   * @return the endpoint, or Refusal NOT_FOUND, CONFLICT, INVALID, or OperationException (the
   *     change is undone)
   */
  CompletableFuture<EndpointSnapshot> setUserLabels(EndpointIdentifier id, List<String> userLabels);

  /**
   * Returns one endpoint; the snapshot includes its log, health, labels and configuration.
   *
   * @param id the endpoint
   * @return its snapshot
   * @throws agent.types.Refusal NOT_FOUND
   */
  EndpointSnapshot get(EndpointIdentifier id);

  /**
   * Returns the endpoints that have all of these labels, by ascending id.
   *
   * @param labels labels in display form; empty selects all
   * @return the snapshots
   * @throws agent.types.Refusal INVALID for a malformed label, NOT_FOUND where labels were given
   *     and no endpoint matches
   */
  List<EndpointSnapshot> list(List<String> labels);

  /**
   * Returns a number that rises with each change of an endpoint. Faults of kernel objects, which
   * the health of the endpoints has in addition, do not raise it.
   */
  long version();
}
