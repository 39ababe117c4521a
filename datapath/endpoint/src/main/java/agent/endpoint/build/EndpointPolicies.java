package agent.endpoint.build;

import agent.endpoint.state.Endpoint;
import agent.endpoint.state.EndpointOptions;
import agent.endpoint.state.MutableOption;
import agent.identity.Identity;
import agent.identity.IdentityAllocator;
import agent.policy.PolicyEngine;
import agent.policy.PolicyUpdate;
import agent.policy.spec.NamedPort;
import agent.types.Refusal;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
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

  /** What of each endpoint the engine has resolved last. */
  private final Map<Integer, Subject> resolved = new HashMap<>();

  private record Subject(Identity identity, List<NamedPort> ports) {}

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
    trace(endpoint.id(), endpoint.options());
    if (isAsResolved(endpoint)) {
      return realization.idle(endpoint.id());
    }
    resolved.remove(endpoint.id());
    return realization.realize(() -> resolve(endpoint));
  }

  private PolicyUpdate resolve(Endpoint endpoint) {
    final Subject subject = new Subject(endpoint.identity(), endpoint.record().namedPorts());
    try {
      final PolicyUpdate update =
          engine.endpointSet(endpoint.id(), subject.identity(), subject.ports());
      resolved.put(endpoint.id(), subject);
      return update;
    } catch (Refusal refusal) {
      endpoint.resolved(engine.wanted(subject.identity(), subject.ports()));
      throw refusal;
    }
  }

  /**
   * Returns whether the engine would resolve what it has resolved, and the map is to hold that:
   * where only options change, the endpoint waits for no change of the rules.
   */
  private boolean isAsResolved(Endpoint endpoint) {
    return realization.hasMap(endpoint)
        && endpoint.policy() == endpoint.realizedPolicy()
        && !endpoint.options().enabled(MutableOption.DEBUG_POLICY)
        && !engine.isHeld()
        && new Subject(endpoint.identity(), endpoint.record().namedPorts())
            .equals(resolved.get(endpoint.id()));
  }

  private void trace(int endpoint, EndpointOptions options) {
    engine.trace(endpoint, options.enabled(MutableOption.DEBUG_POLICY));
    translations.accept(endpoint, options.enabled(MutableOption.DEBUG_LB));
  }

  /**
   * Synchronizes the policy map of the endpoint after a refused write or before the first one;
   * returns null where neither applies.
   */
  CompletableFuture<Void> synchronize(Endpoint endpoint) {
    return realization.hasMap(endpoint) ? null : realization.synchronize(endpoint);
  }

  /** Returns a future that completes when queued updates of the endpoint's policy are realized. */
  CompletableFuture<Void> idle(Endpoint endpoint) {
    return realization.idle(endpoint.id());
  }

  /**
   * Enforces the policies on flows that proxies have open, where the endpoint has another identity
   * than before; returns null where it has not.
   */
  CompletableFuture<Void> enforceIdentity(Endpoint endpoint) {
    return endpoint.hasFormerIdentity() ? enforceOnOpenFlows() : null;
  }

  /** Enforces the policies on flows that proxies have open. */
  CompletableFuture<Void> enforceOnOpenFlows() {
    return realization.enforceOnOpenFlows();
  }

  /** Removes the endpoint from the policy. */
  CompletableFuture<Void> remove(Endpoint endpoint) {
    trace(endpoint.id(), EndpointOptions.defaults());
    resolved.remove(endpoint.id());
    return realization.realize(() -> engine.endpointRemoved(endpoint.id()));
  }

  /** Releases the former identities, which the datapath no longer uses. */
  void releaseFormerIdentities(Endpoint endpoint) {
    if (engine.hasFormerPorts(endpoint.id())) {
      realization.realizeIfAny(() -> engine.identityLeft(endpoint.id()));
    }
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
