package agent.endpoint.build;

import agent.datapath.manager.thread.ConductorAgent;
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
  private final ConductorAgent conductor;
  private final EndpointRegistry registry;
  private final EndpointPolicies policies;
  private final OperationQueue queue;

  /** Creates the operations on the endpoints of the registry. */
  public EndpointOperations(
      ConductorAgent conductor, EndpointRegistry registry, EndpointPolicies policies) {
    this.conductor = conductor;
    this.registry = registry;
    this.policies = policies;
    queue = new OperationQueue(conductor);
  }

  /** Queues an operation that creates an endpoint. Thread-safe. */
  public <T> CompletableFuture<T> create(Supplier<CompletableFuture<T>> operation) {
    return queue.add(0, operation);
  }

  /**
   * Queues an operation on the endpoint that the identifier names. Thread-safe.
   *
   * @return the result of the operation; fails with {@link Refusal} NOT_FOUND where no such
   *     endpoint exists
   */
  public <T> CompletableFuture<T> on(
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
  public void build(Endpoint endpoint, EndpointBuild build) {
    queue.add(
        endpoint.id(),
        () ->
            registry.holds(endpoint)
                ? exclusively(endpoint, present -> buildIfWaiting(present, build))
                : CompletableFuture.completedFuture(null));
  }

  private static CompletableFuture<Void> buildIfWaiting(Endpoint endpoint, EndpointBuild build) {
    return endpoint.is(EndpointState.WAITING_TO_REGENERATE)
        ? build.build(endpoint)
        : CompletableFuture.completedFuture(null);
  }

  private <T> CompletableFuture<T> exclusively(
      Endpoint endpoint, Function<Endpoint, CompletableFuture<T>> operation) {
    endpoint.busy(true);
    return policies
        .idle()
        .thenComposeAsync(done -> operation.apply(endpoint), conductor::run)
        .whenCompleteAsync((value, failure) -> endpoint.busy(false), conductor::run);
  }
}
