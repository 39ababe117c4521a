package agent.datapath.manager.conductor;

import agent.conductor.Repairs;
import agent.conductor.Repairs.Kind;
import agent.datapath.manager.guard.Check;
import agent.datapath.manager.guard.DesiredEntries;
import agent.datapath.manager.guard.EntryComparison;
import agent.datapath.manager.guard.GuardedMap;
import agent.datapath.manager.guard.KernelFaults;
import agent.datapath.manager.spec.EndpointFaults.Part;
import agent.datapath.manager.spec.PolicyDelta;
import agent.datapath.manager.spec.PolicyEntry;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.PolicyMapArray;
import agent.maps.layout.PolicyEntryFlyweight;
import agent.maps.layout.PolicyKeyFlyweight;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntConsumer;
import org.agrona.collections.Int2ObjectHashMap;
import org.agrona.collections.IntArrayList;
import org.agrona.concurrent.UnsafeBuffer;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Compares the policy maps, by their numbers, with the entries that were last requested for them. A
 * map of a previous run is compared once it was synchronized; after a failed write it is not
 * compared until it is synchronized again, because the writer leaves out entries on purpose then.
 * For the conductor's thread.
 */
public final class PolicyGuard implements Check {
  private static final Logger LOGGER = LogManager.getLogger(PolicyGuard.class);

  private final IntConsumer raise;
  private final PolicyMapArray slots;
  private final KernelFaults faults;
  private final Repairs repairs;
  private final EntryComparison comparison;
  private final SlotCheck slotCheck = new SlotCheck();
  private final Int2ObjectHashMap<Policy> byId = new Int2ObjectHashMap<>();
  private final List<Policy> policies = new ArrayList<>();
  private final UnsafeBuffer keyBuffer = new UnsafeBuffer(new byte[PolicyKeyFlyweight.LENGTH]);
  private final UnsafeBuffer valueBuffer = new UnsafeBuffer(new byte[PolicyEntryFlyweight.LENGTH]);
  private final PolicyKeyFlyweight key = new PolicyKeyFlyweight().wrap(keyBuffer, 0);
  private final PolicyEntryFlyweight value = new PolicyEntryFlyweight().wrap(valueBuffer, 0);
  private int next;

  private static final class Policy {
    final int id;
    final GuardedMap guarded;
    final String slot;
    boolean isKnown;
    boolean isSlotFaulty;

    Policy(int id, BpfMap map) {
      this.id = id;
      guarded = new GuardedMap(0, Part.POLICY, "policy map " + id, map);
      slot = "slot " + id + " of policies";
    }
  }

  /**
   * Creates a comparison of no map.
   *
   * @param raise raises the generations of the endpoints of a map, by its number
   */
  PolicyGuard(IntConsumer raise, PolicyMapArray slots, KernelFaults faults, Repairs repairs) {
    this.raise = raise;
    this.slots = slots;
    this.faults = faults;
    this.repairs = repairs;
    comparison = new EntryComparison(faults, repairs);
  }

  /** Returns the comparison of the slots of {@code policies}. */
  public Check slots() {
    return slotCheck;
  }

  /** Begins to compare the slot of a map; the entries follow once they are known. */
  void add(int id, BpfMap map) {
    final Policy policy = new Policy(id, map);
    byId.put(id, policy);
    policies.add(policy);
  }

  /** Ends the comparison of a map and its slot, and clears its faults. */
  void remove(int id) {
    final Policy policy = byId.remove(id);
    if (policy != null) {
      final int index = policies.indexOf(policy);
      policies.remove(index);
      next -= index < next ? 1 : 0;
      slotCheck.next -= index < slotCheck.next ? 1 : 0;
      abandon(policy);
      policy.guarded.clearFault(faults);
      faults.clear(policy.slot);
    }
  }

  /** Sets the endpoints of a map; its faults are in the health of the first. */
  void owner(int id, IntArrayList endpoints) {
    final Policy policy = byId.get(id);
    if (policy != null) {
      policy.guarded.endpointId(endpoints.isEmpty() ? 0 : endpoints.getInt(0));
    }
  }

  /** Returns how many entries a map has, 0 where they are not known. */
  int size(int id) {
    final Policy policy = byId.get(id);
    return policy != null && policy.isKnown ? policy.guarded.desired().size() : 0;
  }

  /** Returns whether the desired entries of a map are exactly these. */
  boolean holds(int id, List<PolicyEntry> entries) {
    final Policy policy = byId.get(id);
    if (policy == null || !policy.isKnown || policy.guarded.desired().size() != entries.size()) {
      return false;
    }
    for (int i = 0; i < entries.size(); i++) {
      encode(entries.get(i));
      if (!policy.guarded.desired().holds(keyBuffer, valueBuffer)) {
        return false;
      }
    }
    return true;
  }

  /** Returns whether a map would have the desired entries of another one after a change. */
  boolean isEqualAfter(int id, PolicyDelta delta, int otherId) {
    final DesiredEntries own = byId.get(id).guarded.desired();
    final DesiredEntries other = byId.get(otherId).guarded.desired();
    final int upserts = delta.upserts().size();
    int changed = 0; // own entries that the change writes or deletes
    int same = 0; // of those, the ones that it leaves as they are
    for (int i = 0; i < upserts; i++) {
      encode(delta.upserts().get(i));
      if (!other.holds(keyBuffer, valueBuffer)) {
        return false;
      }
      changed += own.hasKey(keyBuffer) ? 1 : 0;
      same += own.holds(keyBuffer, valueBuffer) ? 1 : 0;
    }
    for (int i = 0; i < delta.deletes().size(); i++) {
      encode(delta.deletes().get(i));
      if (other.hasKey(keyBuffer)) {
        return false;
      }
      changed += own.hasKey(keyBuffer) ? 1 : 0;
    }
    final int unchanged = own.size() - changed;
    return other.size() == unchanged + upserts && own.countIn(other) == unchanged + same;
  }

  private void abandon(Policy policy) {
    if (comparison.guarded() == policy.guarded) {
      comparison.abandon();
    }
  }

  /** Replaces the desired entries of a map. */
  void replace(int id, List<PolicyEntry> entries) {
    final Policy policy = byId.get(id);
    if (policy != null) {
      abandon(policy);
      policy.guarded.desired().clear();
      put(policy, entries);
      policy.isKnown = true;
    }
  }

  /** Changes the desired entries of a map. */
  void change(int id, PolicyDelta delta) {
    final Policy policy = byId.get(id);
    if (policy != null && policy.isKnown) {
      put(policy, delta.upserts());
      for (int i = 0; i < delta.deletes().size(); i++) {
        encode(delta.deletes().get(i));
        policy.guarded.desired().remove(keyBuffer);
      }
    }
  }

  private void put(Policy policy, List<PolicyEntry> entries) {
    for (int i = 0; i < entries.size(); i++) {
      encode(entries.get(i));
      policy.guarded.desired().put(keyBuffer, valueBuffer);
    }
  }

  private void encode(PolicyEntry entry) {
    key.prefixLength(entry.prefixLength())
        .identity(entry.identity())
        .direction(entry.direction().number())
        .protocol(entry.protocol())
        .port(entry.port());
    value.clear().flags(entry.flags()).redirect(entry.verdict().redirect());
  }

  /** Stops the comparison of the entries of a map until {@link #replace}. */
  void uncertain(int id) {
    final Policy policy = byId.get(id);
    if (policy != null) {
      abandon(policy);
      policy.isKnown = false;
      policy.guarded.clearFault(faults);
    }
  }

  @Override
  public Progress step(long nowNs) {
    if (comparison.guarded() == null && !begin()) {
      return Progress.DONE;
    }
    final int id = policies.get(next - 1).id;
    if (comparison.step() == 0) {
      return Progress.COMPARED;
    }
    raise.accept(id);
    return Progress.REPAIRED;
  }

  /** Begins with the next map; returns false after the last one. */
  private boolean begin() {
    while (next < policies.size()) {
      final Policy policy = policies.get(next++);
      if (policy.isKnown) {
        comparison.begin(policy.guarded);
        return true;
      }
    }
    next = 0;
    return false;
  }

  @Override
  public void close() {
    comparison.abandon();
  }

  @Override
  public String toString() {
    return "policy maps";
  }

  /**
   * Compares the slots of {@code policies}, a check of its own: before Linux 6.8 each lookup in an
   * array of maps waits for an RCU grace period, so that a round takes one per endpoint and rests
   * between them.
   */
  private final class SlotCheck implements Check {
    private int next;

    @Override
    public Progress step(long nowNs) {
      if (next >= policies.size()) {
        next = 0;
        return Progress.DONE;
      }
      final Policy policy = policies.get(next++);
      final int expected = policy.guarded.map().description().id();
      final int found = slots.mapId(policy.id);
      if (found == expected) {
        if (policy.isSlotFaulty) {
          policy.isSlotFaulty = false;
          faults.clear(policy.slot);
        }
        return Progress.COMPARED;
      }
      repair(policy, found < 0 ? "is empty" : "holds map " + found + " instead of " + expected);
      return Progress.REPAIRED;
    }

    private void repair(Policy policy, String found) {
      final int result = slots.set(policy.id, policy.guarded.map().fd());
      if (result < 0) {
        final String reason = slots.failure("update", result).getMessage();
        faults.failed(policy.guarded.endpointId(), Part.POLICY, policy.slot, found + ": " + reason);
      } else {
        raise.accept(policy.id);
        repairs.count(Kind.MAP_ENTRY, 1);
        faults.degraded(policy.guarded.endpointId(), Part.POLICY, policy.slot, found);
        LOGGER.warn("{}: {}; policy map restored", policy.slot, found);
      }
      policy.isSlotFaulty = true;
    }

    @Override
    public String toString() {
      return "slots of policies";
    }
  }
}
