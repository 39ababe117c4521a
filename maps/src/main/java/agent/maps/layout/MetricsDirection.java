package agent.maps.layout;

/**
 * Points at which packets are counted. {@code enum metrics_direction} in {@code
 * maps/metrics_map.h}.
 */
public enum MetricsDirection implements Numbered {
  /** Program to_endpoint: packets from the stack to an endpoint. */
  INGRESS(0),
  /** Program from_endpoint: packets from an endpoint, including local delivery. */
  EGRESS(1),
  /** Host program and prefilter: packets received on the node's network device. */
  NETWORK(2);

  public static final EnumSpec ENUM = EnumSpec.of("metrics_direction", "METRICS_", values());

  private final int number;

  MetricsDirection(int number) {
    this.number = number;
  }

  @Override
  public int number() {
    return number;
  }
}
