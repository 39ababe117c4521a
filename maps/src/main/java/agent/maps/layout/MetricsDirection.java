package agent.maps.layout;

/**
 * Where a counted packet was seen. {@code enum metrics_direction} in {@code maps/metrics_map.h}.
 */
public enum MetricsDirection implements Numbered {
  /** To_endpoint: from the stack to an endpoint. */
  INGRESS(0),
  /** From_endpoint, local delivery included. */
  EGRESS(1),
  /** In from the node's device: host program and prefilter. */
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
