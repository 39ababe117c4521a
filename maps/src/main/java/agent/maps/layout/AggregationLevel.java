package agent.maps.layout;

/**
 * Levels that select which forwarded packets are traced. {@code enum aggregation_level} in {@code
 * maps/endpoint_map.h}.
 */
public enum AggregationLevel implements Numbered {
  /** Every packet. */
  NONE(0),
  /** New flows, TCP state changes, and about one packet per second and flow. */
  LOW(1),
  /** New flows and TCP state changes. */
  MEDIUM(2),
  /** New flows. */
  MAXIMUM(3);

  public static final EnumSpec ENUM = EnumSpec.of("aggregation_level", "AGGREGATION_", values());

  private final int number;

  AggregationLevel(int number) {
    this.number = number;
  }

  @Override
  public int number() {
    return number;
  }
}
