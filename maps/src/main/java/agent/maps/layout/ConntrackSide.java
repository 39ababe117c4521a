package agent.maps.layout;

/**
 * Sides of a flow, which index the pairs in a conntrack entry. {@code enum conntrack_side} in
 * {@code maps/conntrack_map.h}.
 */
public enum ConntrackSide implements Numbered {
  LOW(0),
  HIGH(1);

  public static final EnumSpec ENUM = EnumSpec.of("conntrack_side", "CONNTRACK_", values());

  private final int number;

  ConntrackSide(int number) {
    this.number = number;
  }

  @Override
  public int number() {
    return number;
  }
}
