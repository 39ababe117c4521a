package agent.maps.layout;

import java.util.Map;

/**
 * Computes the index of a counter in the map {@code metrics}. {@code enum metrics_layout} in {@code
 * maps/metrics_map.h}.
 */
public final class MetricsLayout {
  private static final int REASON_BITS = 8;

  /** Number of counters of one direction. */
  public static final int REASONS = 1 << REASON_BITS;

  static final EnumSpec ENUM =
      EnumSpec.of(
          "metrics_layout",
          Map.of(
              "METRICS_REASON_BITS",
              REASON_BITS,
              "METRICS_DIRECTIONS",
              MetricsDirection.values().length));

  private MetricsLayout() {}

  /**
   * Returns the index of a counter.
   *
   * @param direction of {@link MetricsDirection}
   * @param reason of {@link DropReason}; 0 counts forwarded packets
   */
  public static int index(int direction, int reason) {
    return direction << REASON_BITS | reason;
  }

  /** Returns the number of {@link MetricsDirection} that an index contains. */
  public static int direction(int index) {
    return index >>> REASON_BITS;
  }

  /** Returns the number of {@link DropReason} that an index contains. */
  public static int reason(int index) {
    return index & REASONS - 1;
  }
}
