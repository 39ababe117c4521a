package agent.datapath.spec;

import agent.maps.layout.RedirectKind;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/**
 * Writes policy maps of endpoints. Endpoints of one identity with equal entries share one map.
 * Threads and failures are those of {@link EndpointAttachmentProxy}. Calls are realized in their
 * order, and before those of {@link IpcacheProxy} that follow; a large one in steps, between which
 * other commands are executed.
 */
public interface PolicyMapProxy {
  /**
   * The change of one endpoint's policy.
   *
   * @param endpointId the endpoint
   * @param identity its identity, by which it may share a map; 0: it shares none
   * @param delta the difference to its present entries
   * @param isUnused whether it only adds entries of identities that no address is to have: verdicts
   *     that were given before hold, unless an entry of {@link IpcacheProxy} that has one of them
   *     could not be removed yet
   */
  record PolicyChange(int endpointId, int identity, PolicyDelta delta, boolean isUnused) {
    /** A change on which verdicts may depend. */
    public PolicyChange(int endpointId, int identity, PolicyDelta delta) {
      this(endpointId, identity, delta, false);
    }

    /** Returns whether another endpoint changes in the same way. */
    public boolean isAlike(PolicyChange other) {
      return identity == other.identity && isUnused == other.isUnused && delta.equals(other.delta);
    }
  }

  /**
   * Starts proxies that entries send flows to. Precedes the calls that write such an entry, but for
   * {@link #synchronize}, and those of {@link IpcacheProxy} that are to follow them.
   *
   * @return completes when they run, or could not be started ({@link #unserved})
   */
  default CompletableFuture<Void> startProxies(Set<RedirectKind> kinds) {
    return CompletableFuture.completedFuture(null);
  }

  /**
   * Writes changes to existing policy maps, and raises the generations of the endpoints, but for
   * what only adds entries of identities that no address has. A map that endpoints share is changed
   * in place where all of them change alike. No packet passes meanwhile that is denied before and
   * after: where one direction closes and the other opens, all maps reach what both policies allow
   * before one goes on to the new policy.
   *
   * @param changes one for each endpoint
   * @return the failures by endpoint
   */
  CompletableFuture<Map<Integer, RuntimeException>> apply(List<PolicyChange> changes);

  /**
   * Returns whether a change of the endpoint's map was refused since its last {@link #synchronize},
   * so that the map may hold another policy than it was asked for. It has no further changes until
   * it is synchronized.
   */
  boolean isBehind(int endpointId);

  /**
   * Assigns an endpoint a policy map with the desired entries: one of its identity that holds them,
   * or its own, which is compared with the kernel, and to which the difference is written.
   *
   * @param identity identity of the endpoint, by which it may share a map; 0: it shares none
   * @return the written difference
   */
  CompletableFuture<PolicyDelta> synchronize(
      int endpointId, int identity, Collection<PolicyEntry> desired);

  /**
   * Enforces the written and published policies on flows that proxies have open: what these deny
   * ends at once in both directions.
   *
   * @return complete when that is so; does not fail
   */
  default CompletableFuture<Void> enforceOnOpenFlows() {
    return CompletableFuture.completedFuture(null);
  }

  /**
   * Returns why flows that written entries send to these proxies are dropped; empty where each
   * runs.
   */
  default Optional<String> unserved(Set<RedirectKind> proxies) {
    return Optional.empty();
  }

  /** Synchronizes the policy map of an endpoint that shares it with no other. */
  default CompletableFuture<PolicyDelta> synchronize(
      int endpointId, Collection<PolicyEntry> desired) {
    return synchronize(endpointId, 0, desired);
  }
}
