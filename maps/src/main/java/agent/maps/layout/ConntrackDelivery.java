package agent.maps.layout;

/**
 * How a packet reaches the side that it is for. {@code enum conntrack_delivery} in {@code
 * maps/conntrack_map.h}.
 */
public enum ConntrackDelivery implements Numbered {
  /** The stack delivers. */
  BY_KERNEL(0),
  /** Into the workload's namespace; the index is an endpoint id. */
  TO_PEER(1),
  /** Out by a device; the index is its interface index. */
  TO_NEIGHBOUR(2),
  /** The index is that of a node. */
  TO_TUNNEL(3);

  public static final EnumSpec ENUM = EnumSpec.of("conntrack_delivery", "CONNTRACK_", values());

  private final int number;

  ConntrackDelivery(int number) {
    this.number = number;
  }

  @Override
  public int number() {
    return number;
  }
}
