package agent.datapath.manager.prefilter;

import agent.bindings.Errno;
import agent.conductor.Repairs;
import agent.datapath.guard.Check;
import agent.datapath.guard.ComparedTables;
import agent.datapath.guard.KernelFaults;
import agent.datapath.programs.load.OpenMaps;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.MapCatalog;
import agent.maps.kernel.MapCursor;
import agent.maps.kernel.MapProperties;
import agent.maps.kernel.PrefilterWords;
import agent.maps.layout.PrefilterSlotFlyweight;
import agent.maps.layout.PrefilterTable;
import agent.reconcile.DesiredTable;
import agent.reconcile.DesiredWords;
import agent.reconcile.ImmediateChanges;
import agent.reconcile.PeriodicComparison;
import agent.reconcile.Realization;
import agent.reconcile.WordArray;
import agent.reconcile.WordPlan;
import agent.types.Prefix;
import java.util.ArrayList;
import java.util.List;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * The bitmaps and tables of the prefilter with their desired words, which the plan of the list in
 * force computes. A table is filled while no program finds it, and then replaces the one before it:
 * it becomes the desired entry of its slot. The maps are compared with the plan while it does not
 * change. Only the conductor's thread writes.
 */
public final class PrefilterMaps implements AutoCloseable {
  /** Number of bitmaps: IPv4, wide IPv6 and narrow IPv6. */
  static final int BITMAPS = 3;

  private final OpenMaps maps;
  private final ImmediateChanges changes;
  private final KernelFaults faults;
  private final CellPlan plan = new CellPlan();
  private final DesiredTable slots;
  private final PeriodicComparison comparison;
  private final UnsafeBuffer slot = new UnsafeBuffer(new byte[Integer.BYTES]);
  private final UnsafeBuffer id = new UnsafeBuffer(new byte[Integer.BYTES]);
  private final List<Words> bitmaps;
  private final Table[] current = new Table[PrefilterTable.values().length];
  private final Table[] previous = new Table[current.length];
  private Table staged;

  /** The words of a map in mapped memory, and those that it is to hold. */
  private record Words(PrefilterWords memory, DesiredWords desired) {
    static Words of(BpfMap map, WordPlan plan, KernelFaults faults) {
      final PrefilterWords memory = new PrefilterWords(map);
      return new Words(memory, new DesiredWords(map.name(), new Mapped(memory), plan, faults));
    }
  }

  private record Mapped(PrefilterWords memory) implements WordArray {
    @Override
    public int count() {
      return memory.count();
    }

    @Override
    public long word(int index) {
      return memory.word(index);
    }

    @Override
    public void word(int index, long bits) {
      memory.word(index, bits);
    }
  }

  /** A table and its words. */
  private record Table(BpfMap map, Words words) {
    int id() {
      return map.description().id();
    }

    void close() {
      words.memory.close();
      map.close();
    }
  }

  /** Maps the bitmaps of the open maps into memory. */
  public PrefilterMaps(
      OpenMaps maps, ImmediateChanges changes, KernelFaults faults, Repairs repairs) {
    this.maps = maps;
    this.changes = changes;
    this.faults = faults;
    final TableSlots target = new TableSlots(maps.get(MapCatalog.PREFILTER_TABLES), this::fd);
    slots = changes.add(target, 0, Realization.PLAIN, faults);
    comparison = new PeriodicComparison(List.of(slots), repairs);
    bitmaps =
        List.of(
            bitmap(MapCatalog.PREFILTER4_CELLS, plan.cells4()),
            bitmap(MapCatalog.PREFILTER6_WIDE_CELLS, plan.wide6()),
            bitmap(MapCatalog.PREFILTER6_NARROW_CELLS, plan.narrow6()));
  }

  private Words bitmap(MapProperties properties, long[] cells) {
    final WordPlan words = (from, to, count) -> System.arraycopy(cells, from, to, 0, count);
    final Words bitmap = Words.of(maps.get(properties), words, faults);
    comparison.add(bitmap.desired);
    return bitmap;
  }

  /** Returns the comparison of slots, bitmaps and tables with the kernel. */
  public Check guard() {
    return new ComparedTables("prefilter list", comparison);
  }

  /**
   * Returns what the maps are to hold. Another thread may change it after {@link #suspend} and
   * before the update begins.
   */
  CellPlan plan() {
    return plan;
  }

  /** Stops the comparison with the plan, which is about to change. */
  void suspend() {
    bitmaps.forEach(bitmap -> bitmap.desired.suspend());
    for (final Table table : current) {
      table.words.desired.suspend();
    }
  }

  /** Begins to compare with the plan, which the kernel holds. */
  void resume() {
    bitmaps.forEach(bitmap -> bitmap.desired.resume());
    for (final Table table : current) {
      table.words.desired.resume();
    }
  }

  /** Returns the descriptor of a staged or current table by the kernel's id, or -ENOENT. */
  private int fd(int wanted) {
    if (staged != null && staged.id() == wanted) {
      return staged.map.fd();
    }
    for (final Table table : current) {
      if (table != null && table.id() == wanted) {
        return table.map.fd();
      }
    }
    return -Errno.ENOENT;
  }

  /** Reads the list that a previous run of the agent left in the kernel. */
  List<Prefix> read() {
    changes.adopt(slots);
    slot.putInt(0, PrefilterTable.LIST.number());
    final int row = slots.find(slot);
    if (row < 0) {
      return PreviousTries.read(maps);
    }
    final int former = slots.held(row).getInt(0);
    try (BpfMap list = maps.openPrefilterTable(PrefilterTable.LIST, former)) {
      return readList(list);
    }
  }

  static List<Prefix> readList(BpfMap list) {
    final List<Prefix> found = new ArrayList<>();
    final PrefilterSlotFlyweight slot = new PrefilterSlotFlyweight();
    try (MapCursor cursor = new MapCursor()) {
      final int opened = cursor.open(list);
      if (opened < 0) {
        throw list.failure("walk", "all", opened);
      }
      while (cursor.next()) {
        final Prefix prefix = ListPlan.decode(slot.wrap(cursor.value(), 0));
        if (prefix != null) {
          found.add(prefix);
        }
      }
      if (cursor.error() < 0) {
        throw list.failure("walk", "all", cursor.error());
      }
    }
    return found;
  }

  /**
   * Creates the successor of a table, which is empty and which no program finds.
   *
   * @return the number of its words
   */
  int stage(PrefilterTable table) {
    final TablePlan words = plan.table(table);
    final BpfMap map = maps.createPrefilterTable(table, words.slots());
    try {
      staged = new Table(map, Words.of(map, words, faults));
    } catch (RuntimeException failure) {
      map.close();
      throw failure;
    }
    return staged.words.desired.count();
  }

  /**
   * Writes a part of the staged table.
   *
   * @return the index after the last word that was written
   */
  int fill(int from, int limit) {
    return staged.words.desired.fill(from, limit);
  }

  /** Replaces a table by the staged one; the one before it is kept until the update ends. */
  void publish(PrefilterTable table) {
    select(table, staged);
    changes.tryPut(slots, slot, id);
    previous[table.number()] = current[table.number()];
    exchange(table, staged);
    staged = null;
  }

  private void select(PrefilterTable table, Table wanted) {
    slot.putInt(0, table.number());
    id.putInt(0, wanted.id());
  }

  private void exchange(PrefilterTable table, Table by) {
    final Table before = current[table.number()];
    maps.exchange(before == null ? null : before.map, by.map);
    if (before != null) {
      comparison.remove(before.words.desired);
    }
    comparison.add(by.words.desired);
    current[table.number()] = by;
  }

  /** Ends an update that has succeeded. */
  void settle() {
    for (int i = 0; i < previous.length; i++) {
      if (previous[i] != null) {
        previous[i].close();
        previous[i] = null;
      }
    }
  }

  /** Ends an update that has failed: the tables before it are in force again. */
  void rollBack() {
    if (staged != null) {
      staged.close();
      staged = null;
    }
    RuntimeException refusal = null;
    for (final PrefilterTable table : PrefilterTable.values()) {
      if (previous[table.number()] != null) {
        try {
          putBack(table);
        } catch (RuntimeException refused) {
          refusal = refused; // the slot stays desired
        }
      }
    }
    if (refusal != null) {
      throw refusal;
    }
  }

  private void putBack(PrefilterTable table) {
    final Table refused = current[table.number()];
    exchange(table, previous[table.number()]);
    previous[table.number()] = null;
    select(table, current[table.number()]);
    try {
      changes.put(slots, slot, id);
    } finally {
      refused.close();
    }
  }

  /** Unpins the maps of previous releases, once no program looks them up. */
  public void unpinPrevious() {
    PreviousTries.unpin(maps);
  }

  /**
   * Copies the words that differ to one bitmap.
   *
   * @param bitmap 0: IPv4, 1: wide IPv6, 2: narrow IPv6
   */
  void copyCells(int bitmap) {
    final DesiredWords words = bitmaps.get(bitmap).desired;
    words.write(0, words.count());
  }

  @Override
  public void close() {
    settle();
    if (staged != null) {
      staged.close();
    }
    for (final Table table : current) {
      if (table != null) {
        maps.exchange(table.map, null);
        table.close();
      }
    }
    bitmaps.forEach(bitmap -> bitmap.memory.close());
  }
}
