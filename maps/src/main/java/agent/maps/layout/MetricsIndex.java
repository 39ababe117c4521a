package agent.maps.layout;

/** Computes the index of a counter in the map {@code metrics}; see {@link MetricsLayout}. */
public final class MetricsIndex {
  /** Number of counters of one direction. */
  public static final int REASONS = 1 << MetricsLayout.REASON_BITS;

  private MetricsIndex() {}

  /**
   * Returns the index of a counter.
   *
   * @param direction of {@link MetricsDirection}
   * @param reason of {@link DropReason}; 0 counts forwarded packets
   */
  public static int index(int direction, int reason) {
    return direction << MetricsLayout.REASON_BITS | reason;
  }

  /** Returns the number of {@link MetricsDirection} that an index contains. */
  public static int direction(int index) {
    return index >>> MetricsLayout.REASON_BITS;
  }

  /** Returns the number of {@link DropReason} that an index contains. */
  public static int reason(int index) {
    return index & REASONS - 1;
  }
}
