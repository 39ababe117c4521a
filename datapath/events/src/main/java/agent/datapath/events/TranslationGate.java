package agent.datapath.events;

import agent.conductor.Repairs;
import agent.datapath.guard.Check;
import agent.datapath.guard.ComparedTables;
import agent.maps.kernel.BpfMap;
import agent.reconcile.BpfTargetMap;
import agent.reconcile.DesiredTable;
import agent.reconcile.ImmediateChanges;
import agent.reconcile.MapFaults;
import agent.reconcile.Realization;
import java.util.List;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * What the programs emit without an endpoint's options. Another value would hide translations from
 * their subscribers, or cost each new flow an event that no reader reads. For the launching thread,
 * then the conductor's.
 */
public final class TranslationGate {
  private final ImmediateChanges changes;
  private final DesiredTable table;
  private final Check guard;
  private final UnsafeBuffer key = new UnsafeBuffer(new byte[Integer.BYTES]);
  private final UnsafeBuffer value = new UnsafeBuffer(new byte[Integer.BYTES]);

  /** Closes the gate, which a killed run may have left open. */
  public TranslationGate(ImmediateChanges changes, BpfMap map, MapFaults faults, Repairs repairs) {
    this.changes = changes;
    table = changes.add(new BpfTargetMap(map), 0, Realization.PLAIN, faults);
    guard = new ComparedTables("event gate", List.of(table), repairs);
    changes.removeOthers(table);
  }

  /** Returns the comparison of the map with the kernel. */
  public Check guard() {
    return guard;
  }

  /**
   * Writes the bits.
   *
   * @param bits of {@link agent.maps.layout.EventGate}
   * @throws agent.maps.kernel.BpfMapException where the kernel refuses
   */
  public void set(int bits) {
    if (bits == 0) {
      changes.remove(table, key);
    } else {
      value.putInt(0, bits);
      changes.put(table, key, value);
    }
  }
}
