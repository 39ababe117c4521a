package agent.datapath.manager.conductor;

import agent.conductor.Repairs;
import agent.conductor.Repairs.Kind;
import agent.datapath.guard.Check;
import agent.datapath.guard.KernelFaults;
import agent.datapath.spec.EndpointFaults.Part;
import agent.maps.kernel.PolicyMapArray;
import java.util.ArrayList;
import java.util.List;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Compares the slots of {@code policies} with the policy maps, a check of its own: before Linux 6.8
 * each lookup in an array of maps waits for an RCU grace period, so that a round takes one per
 * policy map and rests between them. For the conductor's thread.
 */
final class PolicySlots implements Check {
  private static final Logger LOGGER = LogManager.getLogger(PolicySlots.class);

  private final PolicyMapArray slots;
  private final KernelFaults faults;
  private final Repairs repairs;
  private final List<Slot> compared = new ArrayList<>();
  private int next;

  private static final class Slot {
    final SharedPolicy policy;
    final String subject;
    boolean isFaulty;

    Slot(SharedPolicy policy) {
      this.policy = policy;
      subject = "slot " + policy.number() + " of policies";
    }
  }

  PolicySlots(PolicyMapArray slots, KernelFaults faults, Repairs repairs) {
    this.slots = slots;
    this.faults = faults;
    this.repairs = repairs;
  }

  /** Begins to compare the slot of a map. */
  void add(SharedPolicy policy) {
    compared.add(new Slot(policy));
  }

  /** Ends the comparison of the slot of a map, and its fault. */
  void remove(SharedPolicy policy) {
    for (int i = 0; i < compared.size(); i++) {
      if (compared.get(i).policy == policy) {
        faults.clear(compared.remove(i).subject);
        next -= i < next ? 1 : 0;
        return;
      }
    }
  }

  @Override
  public Progress step(long nowNs) {
    if (next >= compared.size()) {
      next = 0;
      return Progress.DONE;
    }
    final Slot slot = compared.get(next++);
    final int expected = slot.policy.map().description().id();
    final int found = slots.mapId(slot.policy.number());
    if (found == expected) {
      if (slot.isFaulty) {
        slot.isFaulty = false;
        faults.clear(slot.subject);
      }
      return Progress.COMPARED;
    }
    repair(slot, found < 0 ? "is empty" : "holds map " + found + " instead of " + expected);
    return Progress.REPAIRED;
  }

  private void repair(Slot slot, String found) {
    final int result = slots.set(slot.policy.number(), slot.policy.map().fd());
    final int endpoint = slot.policy.endpointId();
    if (result < 0) {
      final String reason = slots.failure("update", result).getMessage();
      faults.failed(endpoint, Part.POLICY, slot.subject, found + ": " + reason);
    } else {
      slot.policy.raise();
      repairs.count(Kind.MAP_ENTRY, 1);
      faults.degraded(endpoint, Part.POLICY, slot.subject, found);
      LOGGER.warn("{}: {}; policy map restored", slot.subject, found);
    }
    slot.isFaulty = true;
  }

  @Override
  public String toString() {
    return "slots of policies";
  }
}
