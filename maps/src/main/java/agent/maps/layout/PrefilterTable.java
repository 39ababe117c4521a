package agent.maps.layout;

/**
 * The tables of the prefilter, by their index in {@code prefilter_tables}. {@code enum
 * prefilter_table} in {@code maps/prefilter_map.h}, which documents them.
 */
public enum PrefilterTable implements Numbered {
  /** The prefixes as they were given. */
  LIST(0, "prefilter_list"),
  /** Blocks of cells and the leaves of their addresses. */
  IPV4(1, "prefilter4_table"),
  /** Buckets and the entries of their prefixes. */
  IPV6(2, "prefilter6_table");

  public static final EnumSpec ENUM = EnumSpec.of("prefilter_table", "PREFILTER_TABLE_", values());

  private final int number;
  private final String mapName;

  PrefilterTable(int number, String mapName) {
    this.number = number;
    this.mapName = mapName;
  }

  @Override
  public int number() {
    return number;
  }

  /** Returns the name of the table's map. */
  public String mapName() {
    return mapName;
  }
}
