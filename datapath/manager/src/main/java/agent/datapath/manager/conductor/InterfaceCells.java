package agent.datapath.manager.conductor;

import agent.bindings.Errno;
import agent.conductor.Repairs;
import agent.conductor.Repairs.Kind;
import agent.datapath.manager.guard.Check;
import agent.datapath.manager.guard.EntryComparison;
import agent.datapath.manager.guard.GuardedMap;
import agent.datapath.manager.guard.KernelFaults;
import agent.datapath.manager.spec.EndpointFaults.Part;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.InterfaceArray;
import agent.maps.kernel.InterfaceOverflowMap;
import agent.maps.layout.MapSize;
import org.agrona.collections.Int2IntHashMap;
import org.agrona.collections.Int2ObjectHashMap;
import org.agrona.concurrent.UnsafeBuffer;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Opens and closes interfaces: the programs drop the packets of an interface that has neither a
 * cell in {@code interfaces} nor, where another interface has its cell, an entry in {@code
 * interfaces_overflow}. Compares both maps with what was written. For the conductor's thread.
 */
public final class InterfaceCells implements Check {
  private static final Logger LOGGER = LogManager.getLogger(InterfaceCells.class);
  private static final int CELLS_PER_STEP = 16_384;
  private static final int NONE = 0;

  private final InterfaceArray array;
  private final InterfaceOverflowMap overflow;
  private final KernelFaults faults;
  private final Repairs repairs;
  private final EntryComparison comparison;
  private final GuardedMap guarded;
  private final UnsafeBuffer key = new UnsafeBuffer(new byte[Integer.BYTES]);
  private final UnsafeBuffer value = new UnsafeBuffer(new byte[Integer.BYTES]);
  private final Int2IntHashMap open = new Int2IntHashMap(NONE);
  private final Int2ObjectHashMap<String> faulty = new Int2ObjectHashMap<>();
  private final long[] desired = new long[MapSize.INTERFACE_CELLS];
  private int next;

  /** Maps the cells into memory; until {@link #takeOver} and {@link #open}, no cell is desired. */
  public InterfaceCells(BpfMap cells, BpfMap overflow, KernelFaults faults, Repairs repairs) {
    array = new InterfaceArray(cells);
    this.overflow = new InterfaceOverflowMap(overflow);
    this.faults = faults;
    this.repairs = repairs;
    comparison = new EntryComparison(faults, repairs);
    guarded = new GuardedMap(0, null, "map " + overflow.name(), overflow);
  }

  /**
   * Keeps the cell that a previous run has written for an endpoint, or its entry in the overflow;
   * {@link #closeOthers} closes all that was not kept.
   */
  void takeOver(int ifindex, int endpointId) {
    final int index = InterfaceArray.index(ifindex);
    final long cell = InterfaceArray.cell(ifindex, endpointId);
    if (array.get(index) == cell) {
      desired[index] = cell;
      open.put(ifindex, endpointId);
    } else if (overflow.get(ifindex) == endpointId) {
      putDesired(ifindex, endpointId);
      open.put(ifindex, endpointId);
    }
  }

  /** Closes the interfaces that a previous run has opened and this one has not taken over. */
  void closeOthers() {
    for (int index = 0; index < desired.length; index++) {
      if (array.get(index) != desired[index]) {
        array.set(index, desired[index]);
      }
    }
  }

  /** Returns whether the programs find this endpoint by this interface. */
  boolean isOpen(int ifindex, int endpointId) {
    return open.get(ifindex) == endpointId;
  }

  /**
   * Opens an interface for an endpoint, whose entry is written.
   *
   * @throws agent.maps.kernel.BpfMapException where the overflow is full; it stays closed
   */
  void open(int ifindex, int endpointId) {
    final int index = InterfaceArray.index(ifindex);
    final int present = InterfaceArray.ifindex(desired[index]);
    if (present == NONE || present == ifindex) {
      desired[index] = InterfaceArray.cell(ifindex, endpointId);
      array.set(index, desired[index]);
    } else {
      final int result = overflow.set(ifindex, endpointId);
      if (result < 0) {
        throw overflow.failure("update", result);
      }
      putDesired(ifindex, endpointId);
    }
    open.put(ifindex, endpointId);
  }

  /**
   * Closes an interface that is an endpoint's; does nothing where it is another's, or no interface.
   *
   * @throws agent.maps.kernel.BpfMapException where the kernel refuses; it stays open
   */
  void close(int ifindex, int endpointId) {
    if (ifindex != NONE && open.get(ifindex) == endpointId) {
      close(ifindex);
    }
  }

  /** Closes an interface, whoever has it. */
  void close(int ifindex) {
    if (open.get(ifindex) == NONE) {
      return;
    }
    final int index = InterfaceArray.index(ifindex);
    if (InterfaceArray.ifindex(desired[index]) == ifindex) {
      desired[index] = NONE;
      array.set(index, NONE);
    } else {
      final int result = overflow.remove(ifindex);
      if (result < 0 && result != -Errno.ENOENT) {
        throw overflow.failure("delete", result);
      }
      key.putInt(0, ifindex);
      guarded.desired().remove(key);
    }
    open.remove(ifindex);
  }

  private void putDesired(int ifindex, int endpointId) {
    key.putInt(0, ifindex);
    value.putInt(0, endpointId);
    guarded.desired().put(key, value);
  }

  @Override
  public Progress step(long nowNs) {
    if (next < desired.length) {
      final int end = next + CELLS_PER_STEP;
      boolean isRepaired = false;
      for (; next < end; next++) {
        if (array.get(next) != desired[next]) {
          repair(next);
          isRepaired = true;
        } else if (!faulty.isEmpty()) {
          right(next);
        }
      }
      return isRepaired ? Progress.REPAIRED : Progress.COMPARED;
    }
    if (comparison.guarded() == null) {
      comparison.begin(guarded);
    }
    final int repaired = comparison.step();
    if (comparison.guarded() != null) {
      return repaired > 0 ? Progress.REPAIRED : Progress.COMPARED;
    }
    next = 0;
    return repaired > 0 ? Progress.REPAIRED : Progress.DONE;
  }

  private void repair(int index) {
    final long found = array.get(index);
    array.set(index, desired[index]);
    final String subject = "cell " + index + " of interfaces";
    final String text =
        "is of interface %d and endpoint %d, not of interface %d and endpoint %d"
            .formatted(
                InterfaceArray.ifindex(found),
                InterfaceArray.endpointId(found),
                InterfaceArray.ifindex(desired[index]),
                InterfaceArray.endpointId(desired[index]));
    faulty.put(index, subject);
    faults.degraded(InterfaceArray.endpointId(desired[index]), Part.PROGRAMS, subject, text);
    repairs.count(Kind.MAP_ENTRY, 1);
    LOGGER.warn("{}: {}; repaired", subject, text);
  }

  private void right(int index) {
    final String subject = faulty.remove(index);
    if (subject != null) {
      faults.clear(subject);
    }
  }

  /** Unmaps the cells; open interfaces stay open. */
  @Override
  public void close() {
    comparison.abandon();
    array.close();
  }

  @Override
  public String toString() {
    return "interfaces";
  }
}
