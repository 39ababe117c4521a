package agent.maps.layout;

/** One table of flows. {@code enum conntrack_table} in {@code config/conntrack_sweep.h}. */
public enum ConntrackTable implements Numbered {
  TCP4(0, "conntrack4_tcp"),
  ANY4(1, "conntrack4_any"),
  TCP6(2, "conntrack6_tcp"),
  ANY6(3, "conntrack6_any");

  public static final EnumSpec ENUM = EnumSpec.of("conntrack_table", "CONNTRACK_TABLE_", values());

  private final int number;
  private final String mapName;

  ConntrackTable(int number, String mapName) {
    this.number = number;
    this.mapName = mapName;
  }

  @Override
  public int number() {
    return number;
  }

  /** The name of the kernel's map. */
  public String mapName() {
    return mapName;
  }
}
