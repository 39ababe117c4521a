package agent.datapath.manager.conductor;

import agent.bindings.Errno;
import agent.conductor.Repairs;
import agent.datapath.guard.Check;
import agent.datapath.guard.ComparedTables;
import agent.datapath.guard.KernelFaults;
import agent.datapath.programs.load.OpenMaps;
import agent.datapath.spec.EndpointSpec;
import agent.datapath.spec.PolicyDelta;
import agent.datapath.spec.PolicyEntry;
import agent.datapath.spec.PolicyMapProxy;
import agent.maps.kernel.MapCatalog;
import agent.maps.kernel.PolicyMapArray;
import agent.reconcile.Batch;
import agent.reconcile.DesiredTable;
import agent.reconcile.PeriodicComparison;
import agent.reconcile.Reconciler;
import agent.reconcile.TableChanges;
import agent.reconcile.Waiter;
import agent.types.OperationException;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.agrona.MutableDirectBuffer;
import org.agrona.collections.Int2ObjectHashMap;
import org.agrona.collections.IntHashSet;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * The policy maps with their desired entries, which a reconciler of their own realizes, and their
 * slots in {@code policies}. Endpoints of one identity with equal entries share one map, which the
 * entry of each names. A map is changed in place where all its endpoints change alike in one call;
 * an endpoint that changes alone moves to another map. A map has the number of the endpoint for
 * which it was created, or the lowest free one where another map has that.
 *
 * <p>Each map has a table of its own: it comes and goes with the map, its size is that of the map,
 * and the faults and refusals of one map are those of its endpoints. Calls are realized in the
 * order in which they were made, a small one in the command that brings it; a change of the ipcache
 * follows those before it. For the conductor's thread.
 */
public final class PolicyMaps implements PolicyMapProxy, AutoCloseable {
  private static final Logger LOGGER = LogManager.getLogger(PolicyMaps.class);

  private final DatapathConductor conductor;
  private final Reconciler reconciler;
  private final VerdictGenerations generations;
  private final OpenMaps nodeMaps;
  private final EndpointEntries entries;
  private final PolicyMapArray slots;
  private final KernelFaults faults;
  private final PolicySlots compared;
  private final PeriodicComparison comparison;
  private final PolicyEntryCodec codec = new PolicyEntryCodec();
  private final Int2ObjectHashMap<SharedPolicy> byNumber = new Int2ObjectHashMap<>();
  private final Int2ObjectHashMap<SharedPolicy> byEndpoint = new Int2ObjectHashMap<>();
  private final PolicyChanges policyChanges = new PolicyChanges(this);

  /**
   * Numbers of maps whose slot programs of releases up to 0.3.0 may read: by the endpoint's id, not
   * by its entry. Such a map is removed at the next start, or with its endpoint.
   */
  private final IntHashSet former = new IntHashSet();

  /** The endpoints one of whose changes was refused since they were synchronized; any thread's. */
  private final Set<Integer> behind = ConcurrentHashMap.newKeySet();

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
    reconciler = conductor.policyReconciler();
    this.generations = generations;
    this.nodeMaps = nodeMaps;
    this.entries = entries;
    this.faults = faults;
    slots = new PolicyMapArray(nodeMaps.get(MapCatalog.POLICIES));
    compared = new PolicySlots(slots, faults, repairs);
    comparison = new PeriodicComparison(List.of(), repairs);
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

  /** Returns the comparison of the maps with the kernel. */
  public Check guard() {
    return new ComparedTables("policy maps", comparison);
  }

  /** Returns the comparison of the slots of the maps with the kernel. */
  public Check slots() {
    return compared;
  }

  @Override
  public CompletableFuture<Map<Integer, RuntimeException>> apply(List<PolicyChange> changes) {
    changes.forEach(change -> EndpointSpec.requireId(change.endpointId()));
    final CompletableFuture<Map<Integer, RuntimeException>> result = new CompletableFuture<>();
    final ChangeRequest request = new ChangeRequest(changes, result);
    submit(request, request, request::refuse);
    return result;
  }

  @Override
  public boolean isBehind(int endpointId) {
    return behind.contains(endpointId);
  }

  private void submit(TableChanges changes, Waiter waiter, Consumer<Throwable> refused) {
    conductor
        .run(() -> reconciler.realize(changes, waiter))
        .whenComplete(
            (submitted, refusal) -> {
              if (refusal != null) {
                refused.accept(refusal);
              }
            });
  }

  private final class ChangeRequest implements TableChanges, Waiter {
    private final List<PolicyChange> changes;
    private final CompletableFuture<Map<Integer, RuntimeException>> result;
    private UnreadPolicies unread;
    private boolean isFound;
    private boolean isBegun;
    private boolean isComplete;
    private RuntimeException unexpected;

    ChangeRequest(
        List<PolicyChange> changes, CompletableFuture<Map<Integer, RuntimeException>> result) {
      this.changes = changes;
      this.result = result;
    }

    @Override
    public boolean apply(Batch batch, int limit) {
      try {
        if (!isFound) {
          isFound = true;
          unread = UnreadPolicies.read(batch, PolicyMaps.this, changes);
          if (unread != null) {
            return false;
          }
        }
        if (!isBegun) {
          if (unread != null && unread.keep(limit)) {
            return true;
          }
          isBegun = true;
          policyChanges.begin(changes);
        }
        return policyChanges.apply(batch, limit);
      } catch (RuntimeException failure) {
        unexpected = failure;
        return false;
      }
    }

    @Override
    public boolean endRound(Batch batch, RuntimeException failure) {
      if (unexpected != null) {
        return false;
      }
      isComplete = isBegun && !policyChanges.endPart(batch);
      return !isComplete;
    }

    @Override
    public void done(RuntimeException failure) {
      if (isComplete) {
        final Map<Integer, RuntimeException> failures = policyChanges.failures();
        if (!failures.isEmpty()) { // an iterator of none would be allocated for each change
          behind.addAll(failures.keySet());
        }
        result.complete(failures);
        return;
      }
      if (isBegun) {
        policyChanges.abandon();
      }
      refuse(DatapathFailures.refusal(unexpected == null ? failure : unexpected));
    }

    void refuse(Throwable refusal) {
      changes.forEach(change -> behind.add(change.endpointId()));
      result.completeExceptionally(refusal);
    }
  }

  /** Returns the map of an endpoint, whose entries are known. */
  SharedPolicy of(int id) {
    final SharedPolicy policy = byEndpoint.get(id);
    if (policy == null) {
      throw Refusal.notFound("id", "endpoint " + id + " has no policy map");
    }
    if (!policy.table().isAdopted()) {
      throw new OperationException("policy map " + policy.number() + ": not synchronized");
    }
    return policy;
  }

  /** Returns the map of an endpoint, or null. */
  SharedPolicy find(int id) {
    return byEndpoint.get(id);
  }

  /**
   * Returns another map of an identity that is to hold what a map would after a change, and that
   * its endpoints may move to; or null.
   */
  SharedPolicy equalAfter(SharedPolicy policy, int identity, PolicyDelta delta) {
    if (!policy.isKnown()
        || identity == SharedPolicy.NOT_SHARED
        || former.contains(policy.number())) {
      return null;
    }
    for (final SharedPolicy other : byNumber.values()) {
      if (other != policy
          && other.isShared(identity)
          && isEqualAfter(policy.table(), delta, other.table())) {
        return other;
      }
    }
    return null;
  }

  /** Returns whether a table would have the desired entries of another one after a change. */
  private boolean isEqualAfter(DesiredTable own, PolicyDelta delta, DesiredTable other) {
    final int upserts = delta.upserts().size();
    int changed = 0; // own entries that the change writes or deletes
    int same = 0; // of those, the ones that it leaves as they are
    for (int i = 0; i < upserts; i++) {
      codec.encode(delta.upserts().get(i));
      if (!codec.isIn(other)) {
        return false;
      }
      changed += codec.isKeyIn(own) ? 1 : 0;
      same += codec.isIn(own) ? 1 : 0;
    }
    for (int i = 0; i < delta.deletes().size(); i++) {
      codec.encode(delta.deletes().get(i));
      if (codec.isKeyIn(other)) {
        return false;
      }
      changed += codec.isKeyIn(own) ? 1 : 0;
    }
    final int unchanged = own.desired() - changed;
    return other.desired() == unchanged + upserts && own.desiredIn(other) == unchanged + same;
  }

  /** Returns the map of an identity that is to hold these entries, the present one if it does. */
  SharedPolicy equalTo(SharedPolicy present, int identity, List<PolicyEntry> desired) {
    if (present != null && present.isShared(identity) && holds(present, desired)) {
      return present;
    }
    if (present != null && former.contains(present.number())) {
      return null;
    }
    for (final SharedPolicy other : byNumber.values()) {
      if (other.isShared(identity) && holds(other, desired)) {
        return other;
      }
    }
    return null;
  }

  private boolean holds(SharedPolicy policy, List<PolicyEntry> entries) {
    if (policy.table().desired() != entries.size()) {
      return false;
    }
    for (int i = 0; i < entries.size(); i++) {
      if (!codec.encode(entries.get(i)).isIn(policy.table())) {
        return false;
      }
    }
    return true;
  }

  /** Returns whether no address has an identity that was taken from it. */
  boolean areAddressesInForce() {
    return conductor.areAddressesInForce();
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
    final int room = policy.map().maxEntries() - (policy.isKnown() ? policy.table().desired() : 0);
    if (delta.growth() <= room) {
      return delta;
    }
    final List<PolicyEntry> before = entries(policy.table());
    final Map<PolicyEntry.Key, PolicyEntry> after = new LinkedHashMap<>();
    before.forEach(entry -> after.put(entry.key(), entry));
    delta.upserts().forEach(entry -> after.put(entry.key(), entry));
    delta.deletes().forEach(entry -> after.remove(entry.key()));
    return fitting(policy, before, after.values(), PolicyDelta.between(before, after.values()));
  }

  private static PolicyDelta fitting(
      SharedPolicy policy,
      List<PolicyEntry> before,
      Collection<PolicyEntry> after,
      PolicyDelta delta) {
    final int room = policy.map().maxEntries() - before.size();
    return delta.growth() <= room ? delta : delta.throughClosed(before, after);
  }

  private List<PolicyEntry> entries(DesiredTable table) {
    final List<PolicyEntry> entries = new ArrayList<>();
    for (int row = 0; row < table.rows(); row++) {
      final MutableDirectBuffer value = table.wanted(row);
      final PolicyEntry entry = value == null ? null : codec.decode(table.key(row), value);
      if (entry != null) {
        entries.add(entry);
      }
    }
    return entries;
  }

  /**
   * Returns the change after which a map holds exactly the desired entries; by way of a map that
   * allows nothing where it has no room for both.
   *
   * @param before what it holds
   */
  PolicyDelta difference(SharedPolicy policy, List<PolicyEntry> before, List<PolicyEntry> desired) {
    final Set<PolicyEntry.Key> keys = new HashSet<>();
    final List<PolicyEntry> upserts = new ArrayList<>();
    int inserted = 0;
    for (final PolicyEntry entry : desired) {
      keys.add(entry.key());
      codec.encode(entry);
      if (!codec.isHeldIn(policy.table())) {
        upserts.add(entry);
        inserted += codec.isKeyHeldIn(policy.table()) ? 0 : 1;
      }
    }
    final List<PolicyEntry> deletes = new ArrayList<>();
    for (final PolicyEntry entry : before) {
      if (!keys.contains(entry.key())) {
        deletes.add(entry);
      }
    }
    final PolicyDelta changed = new PolicyDelta(upserts, deletes);
    return fitting(
        policy, before, desired, PolicyDelta.between(before, desired, changed, inserted));
  }

  /**
   * Waits until no program runs that has read a policy map or a generation before this call. The
   * kernel waits for it when a slot is set, here to what it holds.
   */
  void awaitPrograms(SharedPolicy policy) {
    setSlot(policy);
  }

  @Override
  public CompletableFuture<PolicyDelta> synchronize(
      int endpointId, int identity, Collection<PolicyEntry> desired) {
    final int id = EndpointSpec.requireId(endpointId);
    final List<PolicyEntry> copy = List.copyOf(desired);
    final CompletableFuture<PolicyDelta> result = new CompletableFuture<>();
    final PolicySynchronization request =
        new PolicySynchronization(this, id, identity, copy, result);
    submit(request, request, result::completeExceptionally);
    return result.thenApply(
        written -> {
          behind.remove(id);
          return written;
        });
  }

  /** Makes an endpoint use another map; a map without endpoints is removed. */
  void move(int id, SharedPolicy policy) {
    entries.policy(id, policy.number());
    final SharedPolicy before = byEndpoint.get(id);
    if (before != null) {
      before.members().removeInt(id);
    }
    assign(id, policy);
    generations.raise(id);
    if (before != null
        && before.size() == 0
        && !before.isPending()
        && !former.contains(before.number())) {
      release(before);
    }
  }

  /** Makes an endpoint use another map, unless it has left its own; a map of none is removed. */
  void moveOrRelease(int id, SharedPolicy policy) {
    if (byEndpoint.containsKey(id)) {
      move(id, policy);
    } else {
      releaseUnused(policy);
    }
  }

  /** Removes a map that no endpoint uses any more. */
  void releaseUnused(SharedPolicy policy) {
    if (policy.size() == 0
        && !(former.contains(policy.number()) && byEndpoint.containsKey(policy.number()))) {
      release(policy);
    }
  }

  private void assign(int id, SharedPolicy policy) {
    byEndpoint.put(id, policy);
    policy.members().addInt(id);
  }

  /**
   * Opens the endpoint's policy map and sets its slot; creates it where the endpoint has none: an
   * empty policy map drops all packets.
   *
   * @return the number of the map
   */
  int open(int id) {
    final SharedPolicy present = byEndpoint.get(id);
    final SharedPolicy policy = present == null ? openNew(id) : present;
    putIntoSlot(policy);
    return policy.number();
  }

  /** Creates the map of an endpoint that has none. */
  SharedPolicy openNew(int id) {
    final SharedPolicy policy = create(id);
    assign(id, policy);
    entries.policy(id, policy.number());
    return policy;
  }

  /** Creates a map that an endpoint is to use once it is complete. */
  SharedPolicy create(int id) {
    return opened(free(id));
  }

  /** Returns an open map; opens it or creates it where it is not open. */
  private SharedPolicy opened(int number) {
    SharedPolicy policy = byNumber.get(number);
    if (policy == null) {
      policy = new SharedPolicy(number, nodeMaps.openPolicyMap(number), generations, faults);
      byNumber.put(number, policy);
      comparison.add(reconciler.addUnread(policy.table()));
      compared.add(policy);
    }
    putIntoSlot(policy);
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
  void putIntoSlot(SharedPolicy policy) {
    if (slots.mapId(policy.number()) != policy.map().description().id()) {
      setSlot(policy);
    }
  }

  private void setSlot(SharedPolicy policy) {
    final int result = slots.set(policy.number(), policy.map().fd());
    if (result < 0) {
      throw slots.failure("update", result);
    }
  }

  /** Removes the policy map of an endpoint; the programs then drop its packets. */
  void leave(int id) {
    final SharedPolicy policy = byEndpoint.remove(id);
    if (policy != null) {
      policy.members().removeInt(id);
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
      if (policy.size() == 0
          && !policy.isPending()
          && (policy.number() == id || !former.contains(policy.number()))) {
        remove(policy);
      }
    }
  }

  /** Removes a map; where that fails, it is left for {@link #removeUnused}. */
  void release(SharedPolicy policy) {
    try {
      remove(policy);
    } catch (RuntimeException failure) {
      LOGGER.warn("policy map {}: not removed: {}", policy.number(), failure.getMessage());
    }
  }

  private void remove(SharedPolicy policy) {
    policy.uncertain();
    compared.remove(policy);
    comparison.remove(policy.table());
    final int result = slots.clear(policy.number());
    if (result < 0 && result != -Errno.ENOENT) {
      throw slots.failure("delete", result);
    }
    nodeMaps.removePolicyMap(policy.map());
    reconciler.remove(policy.table());
    byNumber.remove(policy.number());
    former.remove(policy.number());
  }

  /** Returns the ids of endpoints that have a policy map. */
  Set<Integer> endpointIds() {
    return Set.copyOf(byEndpoint.keySet());
  }

  @Override
  public void close() {
    for (final SharedPolicy policy : byNumber.values()) {
      nodeMaps.releasePolicyMap(policy.map());
    }
    byNumber.clear();
    byEndpoint.clear();
  }
}
