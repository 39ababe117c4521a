package agent.endpoint.build;

import agent.conductor.ConductorAgent;
import agent.conductor.OperationQueue;
import agent.endpoint.state.Endpoint;
import agent.endpoint.state.EndpointIdentifier;
import agent.endpoint.state.EndpointRegistry;
import agent.endpoint.state.EndpointState;
import agent.types.Refusal;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * Runs operations on endpoints; those of one endpoint run in the order of their requests. While an
 * operation runs on an endpoint, policy updates write its map but do not change its state.
 */
public final class EndpointOperations {
  /**
   * Enough operations to keep the loader and the disk busy: the records of several are synced at
   * the same time. More would only lengthen the datapath's queue.
   */
  private static final int MAX_ACTIVE = 8;

  private final ConductorAgent conductor;
  private final EndpointRegistry registry;
  private final EndpointPolicies policies;
  private final EndpointBuild build;
  private final OperationQueue queue;

  /**
   * Creates the operations on the endpoints of the registry.
   *
   * @param build builds endpoints, also those that are not restored yet
   */
  public EndpointOperations(
      ConductorAgent conductor,
      EndpointRegistry registry,
      EndpointPolicies policies,
      EndpointBuild build) {
    this.conductor = conductor;
    this.registry = registry;
    this.policies = policies;
    this.build = build;
    queue = new OperationQueue(conductor, MAX_ACTIVE);
  }

  /** Queues an operation that creates an endpoint. Thread-safe. */
  public <T> CompletableFuture<T> create(Supplier<CompletableFuture<T>> operation) {
    return queue.add(OperationQueue.NEW, operation);
  }

  /**
   * Queues an operation on the endpoint that the identifier names. An endpoint of the previous run
   * that is not restored yet is restored first, whatever the number of those before it.
   * Thread-safe.
   *
   * @return the result of the operation; fails with {@link Refusal} NOT_FOUND where no such
   *     endpoint exists
   */
  public <T> CompletableFuture<T> on(
      EndpointIdentifier identifier, Function<Endpoint, CompletableFuture<T>> operation) {
    return onPresent(
        identifier,
        endpoint ->
            restoreIfNeeded(endpoint)
                .handle((done, failure) -> null) // the endpoint reports it and is built again
                .thenCompose(done -> operation.apply(endpoint)));
  }

  /** As {@link #on}, without restoring the endpoint. Thread-safe. */
  public <T> CompletableFuture<T> onPresent(
      EndpointIdentifier identifier, Function<Endpoint, CompletableFuture<T>> operation) {
    final int id;
    try {
      id = registry.get(identifier).id();
    } catch (Refusal refusal) {
      return CompletableFuture.failedFuture(refusal);
    }
    return queue.add(id, () -> exclusively(registry.require(identifier), operation));
  }

  /** Queues a build, which runs if the endpoint still exists and waits for it. Thread-safe. */
  public void build(Endpoint endpoint) {
    whileHeld(endpoint, this::buildIfWaiting);
  }

  /**
   * Queues the restoration of an endpoint, unless another operation has restored it. Thread-safe.
   *
   * @return fails where the endpoint could not be built; it is built again later
   */
  public CompletableFuture<Void> restore(Endpoint endpoint) {
    return whileHeld(endpoint, this::restoreIfNeeded);
  }

  private CompletableFuture<Void> whileHeld(
      Endpoint endpoint, Function<Endpoint, CompletableFuture<Void>> operation) {
    return queue.add(
        endpoint.id(),
        () ->
            registry.holds(endpoint)
                ? exclusively(endpoint, operation)
                : CompletableFuture.completedFuture(null));
  }

  private CompletableFuture<Void> restoreIfNeeded(Endpoint endpoint) {
    return endpoint.is(EndpointState.RESTORING)
        ? build.restore(endpoint)
        : CompletableFuture.completedFuture(null);
  }

  private CompletableFuture<Void> buildIfWaiting(Endpoint endpoint) {
    return endpoint.is(EndpointState.WAITING_TO_REGENERATE)
        ? build.build(endpoint)
        : CompletableFuture.completedFuture(null);
  }

  private <T> CompletableFuture<T> exclusively(
      Endpoint endpoint, Function<Endpoint, CompletableFuture<T>> operation) {
    endpoint.busy(true);
    return policies
        .idle(endpoint)
        .thenComposeAsync(done -> operation.apply(endpoint), conductor::run)
        .whenCompleteAsync((value, failure) -> endpoint.busy(false), conductor::run);
  }
}
