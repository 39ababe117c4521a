package agent.maps.layout;

/**
 * Numbers of the conntrack tables. {@code enum conntrack_table} in {@code maps/conntrack_map.h}.
 */
public enum ConntrackTable implements Numbered {
  TCP4(0),
  ANY4(1),
  TCP6(2),
  ANY6(3),
  /** Flows over IPv4 of endpoints that have their share of a table. */
  OVERFLOW4(4),
  /** Flows over IPv6 of endpoints that have their share of a table. */
  OVERFLOW6(5);

  public static final EnumSpec ENUM = EnumSpec.of("conntrack_table", "CONNTRACK_TABLE_", values());

  private final int number;

  ConntrackTable(int number) {
    this.number = number;
  }

  @Override
  public int number() {
    return number;
  }
}
