package agent.endpoint.build;

import agent.conductor.ConductorAgent;
import agent.endpoint.state.Endpoint;
import agent.endpoint.state.EndpointJournal;
import agent.endpoint.state.EndpointRecord;
import agent.endpoint.state.EndpointRegistry;
import agent.endpoint.state.EndpointState;
import agent.identity.Identity;
import agent.identity.IdentityAllocator;
import agent.identity.LabelSet;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Acquires the identities of endpoints and assigns them when they arrive, at once or later. An
 * endpoint that waits for its identity does not delay other endpoints. Runs on the conductor's
 * thread.
 */
public final class IdentityArrival {
  private static final Logger LOGGER = LogManager.getLogger(IdentityArrival.class);

  private final ConductorAgent conductor;
  private final IdentityAllocator identities;
  private final EndpointRegistry registry;
  private final EndpointJournal journal;
  private final EndpointPolicies policies;
  private Consumer<Endpoint> onLateArrival = endpoint -> {};

  /** Creates the acquisition of identities. */
  public IdentityArrival(
      ConductorAgent conductor,
      IdentityAllocator identities,
      EndpointRegistry registry,
      EndpointJournal journal,
      EndpointPolicies policies) {
    this.conductor = conductor;
    this.identities = identities;
    this.registry = registry;
    this.journal = journal;
    this.policies = policies;
  }

  /**
   * Sets the function that builds an endpoint whose identity arrived after the operation that
   * acquired it.
   */
  public void onLateArrival(Consumer<Endpoint> build) {
    onLateArrival = build;
  }

  /**
   * Acquires the identity of labels.
   *
   * @return completes with the identity, maybe on another thread
   * @throws RuntimeException where the allocator refuses immediately
   */
  public CompletableFuture<Identity> ask(LabelSet labels) {
    final CompletableFuture<Identity> asked = identities.acquire(labels);
    if (asked.isCompletedExceptionally()) {
      throw Answers.unwrapped(asked.exceptionNow());
    }
    return asked;
  }

  /** Returns the number of the identity, or 0 where it has not arrived. */
  public static int numberOf(CompletableFuture<Identity> asked) {
    return asked.isDone() ? asked.join().id() : 0;
  }

  /** Releases an identity that is no longer needed as soon as it arrives. */
  public void abandon(CompletableFuture<Identity> asked) {
    asked.thenAccept(identity -> policies.release(identity.id()));
  }

  /**
   * Assigns the acquired identity to an endpoint that waits for it: immediately, or when it
   * arrives.
   */
  public void await(Endpoint endpoint, CompletableFuture<Identity> asked) {
    if (asked.isDone()) {
      endpoint.await(asked);
      arrived(endpoint, asked);
    } else {
      awaitLate(endpoint, asked);
    }
  }

  /**
   * Restores the identity of an endpoint of the previous run, or acquires another one where its
   * labels now lead to another one. If the identity has not arrived, the endpoint waits for it, and
   * the kernel continues to enforce the policy of the previous run.
   */
  public void restore(Endpoint endpoint) {
    final LabelSet labels = endpoint.labels().identity();
    CompletableFuture<Identity> asked = identities.restore(endpoint.record().identity(), labels);
    if (asked.isCompletedExceptionally()) {
      // The label filter has changed, or the number belongs to other labels now.
      LOGGER.warn(
          "endpoint {}: {}; acquiring another identity",
          endpoint.id(),
          asked.exceptionNow().getMessage());
      asked = ask(labels);
    }
    if (asked.isDone()) {
      take(endpoint, asked.join());
    } else {
      journal.note(endpoint, EndpointState.WAITING_FOR_IDENTITY, "restored from the previous run");
      await(endpoint, asked);
    }
  }

  /**
   * Acquires the identity of the labels of an endpoint that waits for it, and builds the endpoint
   * when it arrives.
   */
  public void acquireAgain(Endpoint endpoint) {
    awaitLate(endpoint, identities.acquire(endpoint.labels().identity()));
  }

  private void awaitLate(Endpoint endpoint, CompletableFuture<Identity> asked) {
    endpoint.await(asked);
    asked.whenComplete((identity, failure) -> conductor.run(() -> arrivedLate(endpoint, asked)));
  }

  /**
   * Keeps the number that the kernel has for an endpoint whose labels are not known, so that no
   * other labels get it: a policy for them must not become that of this endpoint.
   */
  public void keep(Endpoint endpoint) {
    final int number = endpoint.record().identity();
    final LabelSet labels =
        identities
            .find(number)
            .map(Identity::labels)
            .orElse(LabelSet.parse("labels", List.of("unspec:unreadable-endpoint=" + number)));
    if (number >= Identity.CLUSTER_MIN) {
      endpoint.identify(identities.restore(number, labels).join());
    }
  }

  private void arrivedLate(Endpoint endpoint, CompletableFuture<Identity> asked) {
    if (!registry.holds(endpoint) || !endpoint.awaits(asked)) {
      abandon(asked);
    } else if (asked.isCompletedExceptionally()) {
      acquireLater(endpoint, asked.exceptionNow());
    } else {
      arrived(endpoint, asked);
      onLateArrival.accept(endpoint);
    }
  }

  private void arrived(Endpoint endpoint, CompletableFuture<Identity> asked) {
    final Identity identity = asked.join();
    take(endpoint, identity);
    journal.note(
        endpoint,
        EndpointState.WAITING_TO_REGENERATE,
        "identity " + identity.id() + " " + identity.labels());
    endpoint.identified().complete(null);
  }

  private void take(Endpoint endpoint, Identity identity) {
    final EndpointRecord record = endpoint.record();
    if (record.identity() != identity.id()) {
      // The build that follows stores the number.
      endpoint.change(record.withIdentity(identity.id()), endpoint.labels());
    }
    endpoint.identify(identity);
  }

  private void acquireLater(Endpoint endpoint, Throwable failure) {
    final Duration pause = endpoint.controller().pause();
    endpoint.error("identity: " + failure.getMessage());
    endpoint.identified().completeExceptionally(Answers.named("identity", failure));
    registry.publish(endpoint);
    journal.retryLater(endpoint, EndpointState.WAITING_FOR_IDENTITY, pause, this::acquireAgain);
  }
}
