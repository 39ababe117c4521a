package agent.conntrack;

/**
 * The time between two rounds of sweeps: shorter while many entries expire, never below a minimum.
 */
final class SweepInterval {
  static final long SHORTEST_NS = 1_000_000_000L;
  private static final int LARGEST_SHORTENING = 10;
  private static final long MUCH_PERCENT = 25;
  private static final long LITTLE_PERCENT = 5;

  private SweepInterval() {}

  /**
   * Returns the interval after a round. Where more than 25 % of the entries were deleted, the
   * interval is multiplied by the share that stayed; where less than 5 % were, it grows by half.
   *
   * @param currentNs the interval before the round
   * @param configuredNs the longest interval
   * @param visited entries that the round visited
   * @param deleted entries that it deleted, at most visited
   * @return at least the smaller of a second and configuredNs, and at least a tenth of configuredNs
   */
  static long nextNs(long currentNs, long configuredNs, long visited, long deleted) {
    final long deletedPercent = visited == 0 ? 0 : deleted * 100 / visited;
    long nextNs = currentNs;
    if (deletedPercent > MUCH_PERCENT) {
      nextNs = currentNs / 100 * (100 - deletedPercent);
    } else if (deletedPercent < LITTLE_PERCENT) {
      nextNs = currentNs + currentNs / 2;
    }
    final long floorNs = Math.max(SHORTEST_NS, configuredNs / LARGEST_SHORTENING);
    return Math.min(configuredNs, Math.max(floorNs, nextNs));
  }
}
