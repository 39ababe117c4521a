package agent.datapath.manager.conductor;

import agent.bindings.Errno;
import agent.conductor.Repairs;
import agent.datapath.manager.guard.KernelFaults;
import agent.datapath.manager.load.OpenMaps;
import agent.datapath.manager.spec.EndpointSpec;
import agent.datapath.manager.spec.PolicyDelta;
import agent.datapath.manager.spec.PolicyEntry;
import agent.datapath.manager.spec.PolicyMapProxy;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.MapCatalog;
import agent.maps.kernel.PolicyMap;
import agent.maps.kernel.PolicyMapArray;
import agent.types.Refusal;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.agrona.collections.Int2ObjectHashMap;
import org.agrona.collections.IntArrayList;
import org.agrona.collections.IntHashSet;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Writes the policy maps and their slots in {@code policies}. Endpoints of one identity with equal
 * entries share one map, which the entry of each names. A map is changed in place where all its
 * endpoints change alike in one call; an endpoint that changes alone moves to another map. A map
 * has the number of the endpoint for which it was created, or the lowest free one where another map
 * has that. For the conductor's thread.
 */
public final class PolicyMaps implements PolicyMapProxy, AutoCloseable {
  private static final Logger LOGGER = LogManager.getLogger(PolicyMaps.class);
  private static final String PREFIX = "policy_";
  private static final IntArrayList NO_MEMBERS = new IntArrayList();

  private final DatapathConductor conductor;
  private final VerdictGenerations generations;
  private final OpenMaps nodeMaps;
  private final EndpointEntries entries;
  private final PolicyMapArray slots;
  private final PolicyWriter writer = new PolicyWriter();
  private final PolicyGuard guard;
  private final Int2ObjectHashMap<SharedPolicy> byNumber = new Int2ObjectHashMap<>();
  private final Int2ObjectHashMap<SharedPolicy> byEndpoint = new Int2ObjectHashMap<>();
  private final PolicyChanges policyChanges = new PolicyChanges(this);

  /**
   * Numbers of maps whose slot programs of releases up to 0.3.0 may read: by the endpoint's id, not
   * by its entry. Such a map is removed at the next start, or with its endpoint.
   */
  private final IntHashSet former = new IntHashSet();

  /**
   * Opens the pinned policy maps of a previous run.
   *
   * @param entries of the endpoints; they name the policy maps
   * @param pinned numbers of the pinned policy maps
   */
  public PolicyMaps(
      DatapathConductor conductor,
      VerdictGenerations generations,
      OpenMaps nodeMaps,
      EndpointEntries entries,
      Collection<Integer> pinned,
      KernelFaults faults,
      Repairs repairs) {
    this.conductor = conductor;
    this.generations = generations;
    this.nodeMaps = nodeMaps;
    this.entries = entries;
    slots = new PolicyMapArray(nodeMaps.get(MapCatalog.POLICIES));
    guard = new PolicyGuard(this::raise, slots, faults, repairs);
    takeOver(pinned);
  }

  private void takeOver(Collection<Integer> pinned) {
    pinned.forEach(this::opened);
    entries.forEachPolicy(
        (id, number) -> {
          assign(id, opened(number));
          if (number == id && !entries.isOpen(id)) {
            former.add(number);
          }
        });
    for (final int number : pinned) {
      final SharedPolicy policy = byNumber.get(number);
      if (policy.size() == 0 && byEndpoint.containsKey(number)) {
        release(policy); // the endpoint uses another map
      } else if (policy.size() == 0) {
        assign(number, policy);
      }
    }
  }

  /** Returns the comparison of the maps and their slots with the kernel. */
  public PolicyGuard guard() {
    return guard;
  }

  @Override
  public CompletableFuture<Map<Integer, RuntimeException>> apply(List<PolicyChange> changes) {
    changes.forEach(change -> EndpointSpec.requireId(change.endpointId()));
    return conductor.submit(() -> policyChanges.apply(changes));
  }

  /** Returns the map of an endpoint. */
  SharedPolicy of(int id) {
    final SharedPolicy policy = byEndpoint.get(id);
    if (policy == null) {
      throw Refusal.notFound("id", "endpoint " + id + " has no policy map");
    }
    return policy;
  }

  /** Returns the ids of the endpoints that use the map of an endpoint. */
  IntArrayList membersOf(int id) {
    final SharedPolicy policy = byEndpoint.get(id);
    return policy == null ? NO_MEMBERS : policy.members();
  }

  /**
   * Moves an endpoint to another map of an identity that holds what its own would hold after a
   * change; returns whether there is one.
   */
  boolean moveToEqual(int id, int identity, PolicyDelta delta) {
    final SharedPolicy policy = of(id);
    if (!policy.isKnown() || identity == SharedPolicy.NOT_SHARED) {
      return false;
    }
    final SharedPolicy equal = equalAfter(policy, identity, delta);
    if (equal == null || former.contains(policy.number())) {
      return false;
    }
    move(id, equal);
    return true;
  }

  /** Assigns an endpoint a map of its own that holds what its present one would after a change. */
  SharedPolicy split(int id, int identity, PolicyDelta delta) {
    return split(id, identity, entriesAfter(of(id), delta));
  }

  /** Changes a map in place, for all its endpoints. */
  void change(SharedPolicy policy, PolicyDelta delta) {
    guard.change(policy.number(), delta);
    write(policy, delta);
  }

  /** Adds entries to a map on which no verdict depends that was given before. */
  void addUnused(SharedPolicy policy, PolicyDelta delta) {
    guard.change(policy.number(), delta);
    try {
      writer.apply(policy.map(), delta);
    } catch (RuntimeException failure) {
      guard.uncertain(policy.number());
      policy.uncertain();
      raise(policy);
      throw failure;
    }
  }

  /** Returns whether an endpoint has an entry with another identity. */
  boolean hasOtherIdentity(int id, int identity) {
    return identity != SharedPolicy.NOT_SHARED && entries.hasOtherIdentity(id, identity);
  }

  /** Changes the identity of an endpoint that has an entry. */
  void identity(int id, int identity) {
    entries.identity(id, identity);
    generations.raise(id);
  }

  /**
   * Returns a change as the map of the endpoint has room for it: by way of a map that allows
   * nothing, where there is too little.
   */
  PolicyDelta fitting(int id, PolicyDelta delta) {
    final SharedPolicy policy = byEndpoint.get(id);
    if (policy == null || delta.growth() == 0) {
      return delta;
    }
    final int room = policy.map().map().maxEntries() - guard.size(policy.number());
    return delta.growth() <= room
        ? delta
        : writer.difference(policy.map(), entriesAfter(policy, delta));
  }

  /**
   * Waits until no program runs that has read a policy map or a generation before this call. The
   * kernel waits for it when a slot is set, here to what it holds.
   */
  void awaitPrograms(SharedPolicy policy) {
    setSlot(policy.number(), policy.map().map());
  }

  /** Returns another map that holds what an endpoint's map would hold after a change, or null. */
  private SharedPolicy equalAfter(SharedPolicy policy, int identity, PolicyDelta delta) {
    for (final SharedPolicy other : byNumber.values()) {
      if (other != policy
          && other.isShared(identity)
          && guard.isEqualAfter(policy.number(), delta, other.number())) {
        return other;
      }
    }
    return null;
  }

  private Collection<PolicyEntry> entriesAfter(SharedPolicy policy, PolicyDelta delta) {
    final Map<PolicyEntry.Key, PolicyEntry> after = new LinkedHashMap<>();
    writer
        .difference(policy.map(), List.of())
        .deletes()
        .forEach(entry -> after.put(entry.key(), entry));
    delta.upserts().forEach(entry -> after.put(entry.key(), entry));
    delta.deletes().forEach(entry -> after.remove(entry.key()));
    return after.values();
  }

  @Override
  public CompletableFuture<PolicyDelta> synchronize(
      int endpointId, int identity, Collection<PolicyEntry> desired) {
    final int id = EndpointSpec.requireId(endpointId);
    final List<PolicyEntry> copy = List.copyOf(desired);
    return conductor.submit(() -> onSynchronize(id, identity, copy));
  }

  private PolicyDelta onSynchronize(int id, int identity, List<PolicyEntry> desired) {
    final SharedPolicy present = byEndpoint.get(id);
    final SharedPolicy equal = equalTo(present, identity, desired);
    if (equal != null && equal != present) {
      move(id, equal);
      return PolicyDelta.NONE;
    }
    final SharedPolicy policy = present == null ? opened(id, free(id)) : present;
    final PolicyDelta difference = writer.difference(policy.map(), desired);
    if (!difference.isEmpty() && policy.size() > 1 && equal == null) {
      split(id, identity, desired);
      return difference;
    }
    putIntoSlot(policy.number(), policy.map().map());
    guard.replace(policy.number(), desired);
    if (!difference.isEmpty()) {
      // No packet asks a map that no endpoint had: it needs no parts.
      write(
          policy,
          present == null
              ? new PolicyDelta(difference.upserts(), difference.deletes())
              : difference);
    }
    policy.known(identity);
    return difference;
  }

  /** Returns the map of an identity that holds these entries, the present one if it does. */
  private SharedPolicy equalTo(SharedPolicy present, int identity, List<PolicyEntry> desired) {
    if (present != null && present.isShared(identity) && guard.holds(present.number(), desired)) {
      return present;
    }
    if (present != null && former.contains(present.number())) {
      return null;
    }
    for (final SharedPolicy other : byNumber.values()) {
      if (other.isShared(identity) && guard.holds(other.number(), desired)) {
        return other;
      }
    }
    return null;
  }

  private void write(SharedPolicy policy, PolicyDelta delta) {
    try {
      writer.apply(policy.map(), delta.closing());
      if (delta.isTorn() && !delta.opening().isEmpty()) {
        awaitPrograms(policy);
      }
      writer.apply(policy.map(), delta.opening());
    } catch (RuntimeException failure) {
      guard.uncertain(policy.number());
      policy.uncertain();
      throw failure;
    } finally {
      raise(policy);
    }
  }

  /** Assigns an endpoint a map of its own, which is complete before the endpoint uses it. */
  private SharedPolicy split(int id, int identity, Collection<PolicyEntry> desired) {
    final SharedPolicy policy = opened(free(id));
    try {
      writer.apply(policy.map(), writer.difference(policy.map(), desired));
      move(id, policy);
    } catch (RuntimeException failure) {
      release(policy);
      throw failure;
    }
    guard.replace(policy.number(), List.copyOf(desired));
    policy.known(identity);
    return policy;
  }

  /** Makes an endpoint use another map; a map without endpoints is removed. */
  private void move(int id, SharedPolicy policy) {
    entries.policy(id, policy.number());
    final SharedPolicy before = byEndpoint.get(id);
    if (before != null) {
      before.members().removeInt(id);
      guard.owner(before.number(), before.members());
    }
    assign(id, policy);
    generations.raise(id);
    if (before != null && before.size() == 0 && !former.contains(before.number())) {
      release(before);
    }
  }

  private void assign(int id, SharedPolicy policy) {
    byEndpoint.put(id, policy);
    policy.members().addInt(id);
    guard.owner(policy.number(), policy.members());
  }

  /**
   * Opens the endpoint's policy map and sets its slot; creates it where the endpoint has none: an
   * empty policy map drops all packets.
   *
   * @return the number of the map
   */
  int open(int id) {
    final SharedPolicy present = byEndpoint.get(id);
    final SharedPolicy policy = present == null ? opened(id, free(id)) : present;
    putIntoSlot(policy.number(), policy.map().map());
    return policy.number();
  }

  private SharedPolicy opened(int id, int number) {
    final SharedPolicy policy = opened(number);
    assign(id, policy);
    entries.policy(id, number);
    return policy;
  }

  /** Returns an open map; opens it or creates it where it is not open. */
  private SharedPolicy opened(int number) {
    SharedPolicy policy = byNumber.get(number);
    if (policy == null) {
      policy = new SharedPolicy(number, new PolicyMap(nodeMaps.openPolicyMap(number)));
      policy.map().map().retriesRefused(true);
      byNumber.put(number, policy);
      guard.add(number, policy.map().map());
    }
    putIntoSlot(number, policy.map().map());
    return policy;
  }

  /** Returns the number of a new map for an endpoint. */
  private int free(int id) {
    int number = id;
    for (int next = 1; byNumber.containsKey(number); next++) {
      number = next;
    }
    return number;
  }

  /**
   * Sets a slot unless it holds this map already, since setting a slot waits for an RCU grace
   * period.
   */
  private void putIntoSlot(int number, BpfMap map) {
    if (slots.mapId(number) != map.description().id()) {
      setSlot(number, map);
    }
  }

  private void setSlot(int number, BpfMap map) {
    final int result = slots.set(number, map.fd());
    if (result < 0) {
      throw slots.failure("update", result);
    }
  }

  /** Removes the policy map of an endpoint; the programs then drop its packets. */
  void leave(int id) {
    final SharedPolicy policy = byEndpoint.remove(id);
    if (policy != null) {
      policy.members().removeInt(id);
      guard.owner(policy.number(), policy.members());
    }
    entries.policy(id, 0);
  }

  /**
   * Removes the maps that no endpoint uses.
   *
   * @param id of the endpoint that left its map
   * @throws agent.bindings.BindingsException where one cannot be unpinned; it stays open
   */
  void removeUnused(int id) {
    for (final SharedPolicy policy : List.copyOf(byNumber.values())) {
      if (policy.size() == 0 && (policy.number() == id || !former.contains(policy.number()))) {
        remove(policy);
      }
    }
  }

  /** Removes a map; where that fails, it is left for {@link #removeUnused}. */
  private void release(SharedPolicy policy) {
    try {
      remove(policy);
    } catch (RuntimeException failure) {
      LOGGER.warn("policy map {}: not removed: {}", policy.number(), failure.getMessage());
    }
  }

  private void remove(SharedPolicy policy) {
    policy.uncertain();
    guard.remove(policy.number());
    final int result = slots.clear(policy.number());
    if (result < 0 && result != -Errno.ENOENT) {
      throw slots.failure("delete", result);
    }
    nodeMaps.removePolicyMap(policy.map().map());
    byNumber.remove(policy.number());
    former.remove(policy.number());
  }

  /** Returns the ids of endpoints that have a policy map. */
  Set<Integer> endpointIds() {
    return Set.copyOf(byEndpoint.keySet());
  }

  /** Raises the generations of the endpoints whose map a retried write has changed. */
  public void onRealised(BpfMap map) {
    raise(Integer.parseInt(map.name().substring(PREFIX.length())));
  }

  private void raise(int number) {
    final SharedPolicy policy = byNumber.get(number);
    if (policy != null) {
      raise(policy);
    }
  }

  private void raise(SharedPolicy policy) {
    for (int i = 0; i < policy.size(); i++) {
      generations.raise(policy.members().getInt(i));
    }
  }

  @Override
  public void close() {
    for (final SharedPolicy policy : byNumber.values()) {
      nodeMaps.releasePolicyMap(policy.map().map());
    }
    byNumber.clear();
    byEndpoint.clear();
  }
}
