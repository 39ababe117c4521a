package agent.datapath.programs.attach;

import java.util.concurrent.TimeUnit;

/** How often a program was moved before a foreign one, so that two agents do not fight for good. */
final class ProgramMoves {
  static final int MOST = 3;
  private static final long WITHIN_NS = TimeUnit.MINUTES.toNanos(1);

  private int moves;
  private long firstNs;

  /**
   * Returns whether the program is not moved again. Begins a new window where the last one is over,
   * unless the program is behind since the moves were exhausted.
   */
  boolean isExhausted(boolean isFailed, long nowNs) {
    if (moves >= MOST && isFailed) {
      return true; // until the foreign program is gone
    }
    if (moves == 0 || nowNs - firstNs > WITHIN_NS) {
      moves = 0;
      firstNs = nowNs;
    }
    return moves >= MOST;
  }

  void count() {
    moves++;
  }
}
