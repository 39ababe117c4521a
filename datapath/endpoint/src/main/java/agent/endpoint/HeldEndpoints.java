package agent.endpoint;

import agent.endpoint.build.EndpointOperations;
import agent.endpoint.state.Endpoint;
import agent.endpoint.state.EndpointIdentifier;
import agent.endpoint.state.EndpointJournal;
import agent.endpoint.state.EndpointRegistry;
import agent.endpoint.state.EndpointState;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * The endpoints that keep the policy of the previous run, because the stored rules cannot be read,
 * or could not be built meanwhile.
 *
 * @param registry the live endpoints
 * @param journal records their transitions
 * @param operations queues their builds
 */
record HeldEndpoints(
    EndpointRegistry registry, EndpointJournal journal, EndpointOperations operations) {

  /**
   * Builds them with the rules that a person has set. Runs on the conductor's thread.
   *
   * @return completes when all are built, or failed and are tried again
   */
  CompletableFuture<Void> buildAll() {
    final List<CompletableFuture<Void>> built = new ArrayList<>();
    for (final Endpoint endpoint : registry.all()) {
      if (endpoint.is(EndpointState.NOT_READY)) {
        journal.note(endpoint, EndpointState.WAITING_TO_REGENERATE, "the rules were set anew");
        operations.build(endpoint);
        built.add(ended(endpoint));
      }
    }
    return CompletableFuture.allOf(built.toArray(CompletableFuture<?>[]::new));
  }

  /** Operations of one endpoint run in their order: this one after the build. */
  private CompletableFuture<Void> ended(Endpoint endpoint) {
    return operations
        .on(
            EndpointIdentifier.local(endpoint.id()),
            present -> CompletableFuture.<Void>completedFuture(null))
        .exceptionally(gone -> null);
  }
}
