package agent.endpoint.build;

import agent.endpoint.state.Endpoint;
import agent.endpoint.state.EndpointOptions;
import agent.endpoint.state.MutableOption;
import agent.identity.IdentityAllocator;
import agent.policy.PolicyEngine;
import agent.policy.PolicyUpdate;
import agent.types.Refusal;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * The requests of operations on one endpoint to policy and identities. Runs on the conductor's
 * thread.
 */
public final class EndpointPolicies {
  private static final Logger LOGGER = LogManager.getLogger(EndpointPolicies.class);

  private final PolicyEngine engine;
  private final PolicyRealization realization;
  private final IdentityAllocator identities;
  private final BiConsumer<Integer, Boolean> translations;

  /**
   * Creates the access to policy and identities.
   *
   * @param translations logs the translations of an endpoint, or stops
   */
  public EndpointPolicies(
      PolicyEngine engine,
      PolicyRealization realization,
      IdentityAllocator identities,
      BiConsumer<Integer, Boolean> translations) {
    this.engine = engine;
    this.realization = realization;
    this.identities = identities;
    this.translations = translations;
  }

  /** Realizes the policy of the endpoint and of all endpoints whose policy selects its identity. */
  CompletableFuture<Void> realize(Endpoint endpoint) {
    final PolicyUpdate update;
    trace(endpoint.id(), endpoint.options());
    try {
      update =
          engine.endpointSet(endpoint.id(), endpoint.identity(), endpoint.record().namedPorts());
    } catch (Refusal refusal) {
      endpoint.resolved(engine.wanted(endpoint.identity(), endpoint.record().namedPorts()));
      throw refusal;
    }
    return realization.realize(update);
  }

  private void trace(int endpoint, EndpointOptions options) {
    engine.trace(endpoint, options.enabled(MutableOption.DEBUG_POLICY));
    translations.accept(endpoint, options.enabled(MutableOption.DEBUG_LB));
  }

  /**
   * Synchronizes the policy map of the endpoint after a failed write or before the first one;
   * returns null where neither applies.
   */
  CompletableFuture<Void> synchronizeIfDistrusted(Endpoint endpoint) {
    return endpoint.isPolicyMapTrusted() ? null : realization.synchronize(endpoint);
  }

  /** Returns a future that completes when all queued policy updates are realized. */
  CompletableFuture<Void> idle() {
    return realization.idle();
  }

  /** Removes the endpoint from the policy. */
  CompletableFuture<Void> remove(Endpoint endpoint) {
    trace(endpoint.id(), EndpointOptions.defaults());
    return realization.realize(engine.endpointRemoved(endpoint.id()));
  }

  /** Releases the former identities, which the datapath no longer uses. */
  void releaseFormerIdentities(Endpoint endpoint) {
    engine.identityLeft(endpoint.id()).ifPresent(realization::realize);
    endpoint.takeFormerIdentities().forEach(former -> release(former.id()));
  }

  /** Releases all identities of the endpoint, which the datapath no longer uses. */
  void releaseIdentities(Endpoint endpoint) {
    releaseFormerIdentities(endpoint);
    if (endpoint.identity() != null) {
      release(endpoint.identity().id());
    }
  }

  /** Releases one reference. The policy engine receives the event from the allocator. */
  public void release(int identity) {
    identities
        .release(identity)
        .whenComplete(
            (isLast, failure) -> {
              if (failure != null) {
                LOGGER.warn("identity {}: release: {}", identity, failure.getMessage());
              }
            });
  }
}
