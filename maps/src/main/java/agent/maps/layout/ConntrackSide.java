package agent.maps.layout;

/**
 * Index of the pairs in a conntrack entry. {@code enum conntrack_side} in {@code
 * maps/conntrack_map.h}.
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
