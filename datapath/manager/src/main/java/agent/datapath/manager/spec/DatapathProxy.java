package agent.datapath.manager.spec;

import agent.types.Prefix;
import agent.types.Refusal;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/**
 * The caller's side of the conductor's queue. Thread-safe. Commands are carried out in the order in
 * which they were given, and every future is completed on {@code dp-conductor}: what is chained to
 * it must be short or go to another thread. A command that fails completes its future with a {@link
 * Refusal} (EXHAUSTED where a map is full, UNAVAILABLE after close, FAILED otherwise).
 */
public interface DatapathProxy {
  /**
   * Begins to load the endpoint's programs, beside whatever is asked for before {@link
   * #attachEndpoint} follows with the same endpoint, which then takes less long. Where nothing runs
   * for the endpoint yet, nothing passes its interface until then. Nothing else depends on it.
   *
   * @return done when it has begun
   */
  CompletableFuture<Void> prepareEndpoint(EndpointSpec endpoint);

  /**
   * Loads the endpoint's programs and attaches them, or replaces those that are attached without a
   * packet in between. Its policy map is created where it is missing, and an empty one lets nothing
   * through: give the policy first by {@link #synchronizePolicy}. On failure what ran before runs
   * on.
   */
  CompletableFuture<Void> attachEndpoint(EndpointSpec endpoint);

  /**
   * Takes the endpoint's programs, links, pins, policy map, entry and ipcache entries away. An
   * endpoint that is not there is no error.
   *
   * @return what went wrong on the way, a line each
   */
  CompletableFuture<List<String>> detachEndpoint(int endpointId);

  /** Changes the policy map of an endpoint that has one, and renews its generation. */
  CompletableFuture<Void> applyPolicy(int endpointId, PolicyMapDelta delta);

  /**
   * Makes the policy map hold these entries and nothing else, whatever is in the kernel; the map is
   * created where it is missing.
   *
   * @return what had to be changed
   */
  CompletableFuture<PolicyMapDelta> synchronizePolicy(
      int endpointId, Collection<PolicyMapEntry> desired);

  /** Changes the identity in the endpoint's entry and renews its generation. */
  CompletableFuture<Void> setIdentity(int endpointId, int identity);

  /** Inserts or changes what prefixes stand for. */
  CompletableFuture<Void> upsertIpcache(Collection<IpcacheEntry> entries);

  /** Removes prefixes; one that is not there is no error. */
  CompletableFuture<Void> removeIpcache(Collection<Prefix> prefixes);

  /** Makes the ipcache hold these entries and nothing else, whatever is in the kernel. */
  CompletableFuture<Void> synchronizeIpcache(Collection<IpcacheEntry> desired);

  /** Endpoints that have a policy map, an entry or programs: after a restart, those taken over. */
  CompletableFuture<Set<Integer>> knownEndpoints();

  /** The index of the host side of an endpoint's interface, 0 where it has none. */
  CompletableFuture<Integer> interfaceOf(int endpointId);

  /**
   * Detaches every known endpoint that is not among these: after a restart, what nobody asked for.
   *
   * @return what went wrong on the way, a line each
   */
  CompletableFuture<List<String>> forgetEndpointsExcept(Set<Integer> endpointIds);
}
