package agent.datapath.manager.conductor;

import agent.conductor.Repairs;
import agent.datapath.guard.Check;
import agent.datapath.guard.ComparedTables;
import agent.datapath.guard.KernelFaults;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.InterfaceArray;
import agent.maps.layout.InterfaceCellFlyweight;
import agent.reconcile.BpfTargetMap;
import agent.reconcile.DesiredTable;
import agent.reconcile.ImmediateChanges;
import agent.reconcile.Realization;
import java.util.List;
import org.agrona.DirectBuffer;
import org.agrona.MutableDirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * Opens and closes interfaces: the programs drop the packets of an interface that has neither a
 * cell in {@code interfaces} nor, where another interface has its cell, an entry in {@code
 * interfaces_overflow}. Both refer to entries of endpoints. For the conductor's thread.
 */
public final class InterfaceCells implements AutoCloseable {
  /** Above that of the entries of endpoints. */
  private static final int RANK = 1;

  private static final int NONE = 0;

  private final ImmediateChanges changes;
  private final MappedCells map;
  private final DesiredTable cells;
  private final DesiredTable overflow;
  private final EntryFaults faults;
  private final Check guard;
  private final UnsafeBuffer index = new UnsafeBuffer(new byte[Integer.BYTES]);
  private final UnsafeBuffer cell = new UnsafeBuffer(new byte[InterfaceCellFlyweight.LENGTH]);
  private final UnsafeBuffer key = new UnsafeBuffer(new byte[Integer.BYTES]);
  private final UnsafeBuffer value = new UnsafeBuffer(new byte[Integer.BYTES]);

  /** Maps the cells into memory; until {@link #takeOver} and {@link #open}, no cell is desired. */
  public InterfaceCells(
      ImmediateChanges changes,
      BpfMap cells,
      BpfMap overflow,
      KernelFaults faults,
      Repairs repairs) {
    this.changes = changes;
    this.faults = new EntryFaults(cells, faults);
    map = new MappedCells(cells);
    this.cells = changes.add(map, RANK, new Repaired(), this.faults);
    this.overflow = changes.add(new BpfTargetMap(overflow), RANK, Realization.PLAIN, faults);
    guard = new ComparedTables(cells.name(), List.of(this.cells, this.overflow), repairs);
  }

  /** Reports cells that were repaired. */
  private final class Repaired implements Realization {
    @Override
    public void onEntryRepaired(MutableDirectBuffer repaired, DirectBuffer found, DirectBuffer to) {
      final long before = found == null ? NONE : found.getLong(0);
      final long now = to == null ? NONE : to.getLong(0);
      faults.repaired(
          InterfaceArray.endpointId(now),
          "cell " + repaired.getInt(0) + " of interfaces",
          "is of interface %d and endpoint %d, not of interface %d and endpoint %d"
              .formatted(
                  InterfaceArray.ifindex(before),
                  InterfaceArray.endpointId(before),
                  InterfaceArray.ifindex(now),
                  InterfaceArray.endpointId(now)));
    }
  }

  /** Returns the comparison of both maps with the kernel. */
  public Check guard() {
    return guard;
  }

  /**
   * Keeps the cell that a previous run has written for an endpoint, or its entry in the overflow;
   * {@link #closeOthers} closes all that was not kept.
   */
  void takeOver(int ifindex, int endpointId) {
    changes.adopt(cells);
    changes.adopt(overflow);
    set(ifindex, endpointId);
    if (cells.holds(index, cell)) {
      changes.put(cells, index, cell);
    } else if (overflow.holds(key, value)) {
      changes.put(overflow, key, value);
    }
  }

  /** Sets the keys and values of an interface and its endpoint. */
  private void set(int ifindex, int endpointId) {
    index.putInt(0, InterfaceArray.index(ifindex));
    cell.putLong(0, InterfaceArray.cell(ifindex, endpointId));
    key.putInt(0, ifindex);
    value.putInt(0, endpointId);
  }

  /** Closes the interfaces that a previous run has opened and this one has not taken over. */
  void closeOthers() {
    changes.removeOthers(cells);
    changes.removeOthers(overflow);
  }

  /** Returns whether the programs find this endpoint by this interface. */
  boolean isOpen(int ifindex, int endpointId) {
    set(ifindex, endpointId);
    return cells.wants(index, cell) || overflow.wants(key, value);
  }

  /**
   * Opens an interface for an endpoint, whose entry is written.
   *
   * @throws agent.maps.kernel.BpfMapException where the overflow is full; it stays closed
   */
  void open(int ifindex, int endpointId) {
    set(ifindex, endpointId);
    final int present = interfaceOfCell();
    if (present == NONE || present == ifindex) {
      changes.put(cells, index, cell);
      changes.remove(overflow, key);
    } else {
      changes.tryPut(overflow, key, value);
    }
  }

  /** Returns the interface that has the cell of {@link #index}, or 0. */
  private int interfaceOfCell() {
    final int row = cells.find(index);
    final DirectBuffer present = row < 0 ? null : cells.unrefined(row);
    return present == null ? NONE : InterfaceArray.ifindex(present.getLong(0));
  }

  /** Closes an interface that is an endpoint's; does nothing where it is another's, or none. */
  void close(int ifindex, int endpointId) {
    if (ifindex != NONE && isOpen(ifindex, endpointId)) {
      close(ifindex);
    }
  }

  /** Closes an interface, whoever has it. */
  void close(int ifindex) {
    set(ifindex, NONE);
    if (interfaceOfCell() == ifindex) {
      changes.remove(cells, index);
    }
    changes.remove(overflow, key);
  }

  /** Unmaps the cells; open interfaces stay open. */
  @Override
  public void close() {
    map.close();
  }
}
