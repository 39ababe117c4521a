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
import agent.maps.kernel.PrefilterWords;
import agent.maps.layout.PrefilterSlotFlyweight;
import agent.maps.layout.PrefilterTable;
import agent.reconcile.DesiredTable;
import agent.reconcile.ImmediateChanges;
import agent.reconcile.Realization;
import agent.types.Prefix;
import java.util.ArrayList;
import java.util.List;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * Reads and writes the bitmaps and tables of the prefilter. A table is filled while no program
 * finds it, and then replaces the one before it: it becomes the desired entry of its slot. Only the
 * conductor's thread writes.
 */
public final class PrefilterMaps implements AutoCloseable {
  /** Number of bitmaps: IPv4, wide IPv6 and narrow IPv6. */
  static final int BITMAPS = 3;

  private final OpenMaps maps;
  private final ImmediateChanges changes;
  private final DesiredTable slots;
  private final Check guard;
  private final UnsafeBuffer slot = new UnsafeBuffer(new byte[Integer.BYTES]);
  private final UnsafeBuffer id = new UnsafeBuffer(new byte[Integer.BYTES]);
  private final PrefilterWords[] bitmaps;
  private final Table[] current = new Table[PrefilterTable.values().length];
  private final Table[] previous = new Table[current.length];
  private Table staged;

  /** A table and its words in mapped memory. */
  private record Table(BpfMap map, PrefilterWords words) {
    int id() {
      return map.description().id();
    }

    void close() {
      words.close();
      map.close();
    }
  }

  /** Maps the bitmaps of the open maps into memory. */
  public PrefilterMaps(
      OpenMaps maps, ImmediateChanges changes, KernelFaults faults, Repairs repairs) {
    this.maps = maps;
    this.changes = changes;
    final TableSlots target = new TableSlots(maps.get(MapCatalog.PREFILTER_TABLES), this::fd);
    slots = changes.add(target, 0, Realization.PLAIN, faults);
    guard = new ComparedTables("tables of the prefilter", List.of(slots), repairs);
    bitmaps =
        new PrefilterWords[] {
          new PrefilterWords(maps.get(MapCatalog.PREFILTER4_CELLS)),
          new PrefilterWords(maps.get(MapCatalog.PREFILTER6_WIDE_CELLS)),
          new PrefilterWords(maps.get(MapCatalog.PREFILTER6_NARROW_CELLS))
        };
  }

  /** Returns the comparison of the slots with the kernel. */
  public Check guard() {
    return guard;
  }

  /** Returns the descriptor of an open table by the kernel's id, or -ENOENT. */
  private int fd(int wanted) {
    if (staged != null && staged.id() == wanted) {
      return staged.map.fd();
    }
    for (int i = 0; i < current.length; i++) {
      if (current[i] != null && current[i].id() == wanted) {
        return current[i].map.fd();
      }
      if (previous[i] != null && previous[i].id() == wanted) {
        return previous[i].map.fd();
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

  /** Creates the successor of a table, which is empty and which no program finds. */
  void stage(CellPlan plan, PrefilterTable table) {
    final BpfMap map = maps.createPrefilterTable(table, plan.table(table).slots());
    try {
      staged = new Table(map, new PrefilterWords(map));
    } catch (RuntimeException failure) {
      map.close();
      throw failure;
    }
  }

  /**
   * Writes a part of the staged table.
   *
   * @return the index after the last word that was written
   */
  int fill(CellPlan plan, PrefilterTable table, int from, int limit) {
    final TablePlan words = plan.table(table);
    final int end = Math.min(words.words(), from + limit);
    for (int i = from; i < end; i++) {
      final long word = words.word(i);
      if (word != 0) {
        staged.words.word(i, word);
      }
    }
    return end;
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
  void copyCells(CellPlan plan, int bitmap) {
    repairCells(plan, bitmap, 0, bitmaps[bitmap].count());
  }

  /** Returns the number of words of one bitmap. */
  int cellWords(int bitmap) {
    return bitmaps[bitmap].count();
  }

  /**
   * Copies the words that differ in a part of one bitmap.
   *
   * @return their number
   */
  int repairCells(CellPlan plan, int bitmap, int from, int to) {
    final long[] words =
        switch (bitmap) {
          case 0 -> plan.cells4();
          case 1 -> plan.wide6();
          default -> plan.narrow6();
        };
    final PrefilterWords cells = bitmaps[bitmap];
    int repaired = 0;
    for (int i = from; i < Math.min(to, words.length); i++) {
      if (cells.word(i) != words[i]) {
        cells.word(i, words[i]);
        repaired++;
      }
    }
    return repaired;
  }

  /**
   * Copies the words that differ in a part of one table, which is as large as its plan.
   *
   * @return their number
   */
  int repairWords(CellPlan plan, PrefilterTable table, int from, int to) {
    final TablePlan plans = plan.table(table);
    final PrefilterWords words = current[table.number()].words;
    final int end = Math.min(to, plans.words());
    int repaired = 0;
    for (int i = from; i < end; i++) {
      final long word = plans.word(i);
      if (words.word(i) != word) {
        words.word(i, word);
        repaired++;
      }
    }
    return repaired;
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
    for (final PrefilterWords bitmap : bitmaps) {
      bitmap.close();
    }
  }
}
