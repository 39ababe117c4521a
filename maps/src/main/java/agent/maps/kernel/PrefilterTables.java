package agent.maps.kernel;

import agent.bindings.bpf.MapFlag;
import agent.maps.layout.PrefilterTable;

/**
 * Typed access to the map {@code prefilter_tables}, through which programs find the tables. Methods
 * return 0 or a negative errno. Not thread-safe.
 */
public final class PrefilterTables {
  private final BpfMap map;
  private final EntryBuffer entry;

  public PrefilterTables(BpfMap map) {
    this.map = map;
    entry = new EntryBuffer(map);
  }

  /** Returns the name of the map of a table. */
  public static String mapName(PrefilterTable table) {
    return switch (table) {
      case LIST -> "prefilter_list";
      case IPV4 -> "prefilter4_table";
      case IPV6 -> "prefilter6_table";
    };
  }

  /**
   * Replaces a table with one store: a program finds the old one or the new one. Waits for a grace
   * period of the kernel; then no program reads the old one any more.
   */
  public int set(PrefilterTable table, int mapFd) {
    entry.key().putInt(0, table.number());
    entry.value().putInt(0, mapFd);
    return map.update(entry, MapFlag.ANY);
  }

  /** Returns the kernel's id of a table, or a negative errno; -ENOENT if the slot is empty. */
  public int mapId(PrefilterTable table) {
    entry.key().putInt(0, table.number());
    final int result = map.lookup(entry);
    return result < 0 ? result : entry.value().getInt(0);
  }

  /** Empties the slot of a table; programs drop the sources that only it could let pass. */
  public int clear(PrefilterTable table) {
    entry.key().putInt(0, table.number());
    return map.delete(entry);
  }
}
