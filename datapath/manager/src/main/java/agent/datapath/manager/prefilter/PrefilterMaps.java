package agent.datapath.manager.prefilter;

import agent.bindings.Errno;
import agent.datapath.programs.load.OpenMaps;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.MapCatalog;
import agent.maps.kernel.MapCursor;
import agent.maps.kernel.PrefilterTables;
import agent.maps.kernel.PrefilterWords;
import agent.maps.layout.PrefilterSlotFlyweight;
import agent.maps.layout.PrefilterTable;
import agent.types.Prefix;
import java.util.ArrayList;
import java.util.List;

/**
 * Reads and writes the bitmaps and tables of the prefilter. A table is filled while no program
 * finds it, and then replaces the one before it. Only the conductor's thread writes.
 */
public final class PrefilterMaps implements AutoCloseable {
  /** Number of bitmaps: IPv4, wide IPv6 and narrow IPv6. */
  static final int BITMAPS = 3;

  private final OpenMaps maps;
  private final PrefilterTables tables;
  private final PrefilterWords[] bitmaps;
  private final Table[] current = new Table[PrefilterTable.values().length];
  private final Table[] previous = new Table[current.length];
  private Table staged;

  /** A table and its words in mapped memory. */
  private record Table(BpfMap map, PrefilterWords words) {
    void close() {
      words.close();
      map.close();
    }
  }

  /** Maps the bitmaps of the open maps into memory. */
  public PrefilterMaps(OpenMaps maps) {
    this.maps = maps;
    tables = new PrefilterTables(maps.get(MapCatalog.PREFILTER_TABLES));
    bitmaps =
        new PrefilterWords[] {
          new PrefilterWords(maps.get(MapCatalog.PREFILTER4_CELLS)),
          new PrefilterWords(maps.get(MapCatalog.PREFILTER6_WIDE_CELLS)),
          new PrefilterWords(maps.get(MapCatalog.PREFILTER6_NARROW_CELLS))
        };
  }

  /** Reads the list that a previous run of the agent left in the kernel. */
  List<Prefix> read() {
    final int id = tables.mapId(PrefilterTable.LIST);
    if (id == -Errno.ENOENT) {
      return PreviousTries.read(maps);
    }
    if (id < 0) {
      throw tables.failure("read", id);
    }
    try (BpfMap list = maps.openPrefilterTable(PrefilterTable.LIST, id)) {
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
    final int result = tables.set(table, staged.map.fd());
    if (result < 0) {
      throw tables.failure("replace", result);
    }
    previous[table.number()] = current[table.number()];
    exchange(table, staged);
    staged = null;
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
    for (final PrefilterTable table : PrefilterTable.values()) {
      final Table before = previous[table.number()];
      if (before != null) {
        final Table refused = current[table.number()];
        final int result = tables.set(table, before.map.fd());
        exchange(table, before);
        previous[table.number()] = null;
        refused.close();
        if (result < 0) {
          throw tables.failure("put back", result);
        }
      }
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

  /** Puts a table into its slot again; returns whether it was not there. */
  boolean repairSlot(PrefilterTable table) {
    final Table wanted = current[table.number()];
    final int found = tables.mapId(table);
    if (found == wanted.map.description().id()) {
      return false;
    }
    final int result =
        found < 0 && found != -Errno.ENOENT ? found : tables.set(table, wanted.map.fd());
    if (result < 0) {
      throw tables.failure("replace", result);
    }
    return true;
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
