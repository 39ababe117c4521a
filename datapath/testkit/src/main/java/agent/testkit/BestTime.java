package agent.testkit;

import java.time.Duration;

/**
 * A time limit on a machine that has other work, too: the best of up to three tries has to keep it.
 * What takes longer than its limit by itself fails in each.
 */
public final class BestTime {
  private static final int TRIES = 3;

  /** One try. */
  @FunctionalInterface
  public interface Try {
    /** Returns the time from the damage to its repair. */
    Duration run() throws Exception;
  }

  private BestTime() {}

  /**
   * Tries until one is in time.
   *
   * @param due the limit on a processor that is not emulated ({@link EmulatedTime})
   * @param what names it in the failure
   */
  public static void assertWithin(Duration due, String what, Try one) throws Exception {
    final Duration limit = EmulatedTime.of(due);
    Duration best = null;
    for (int i = 0; i < TRIES && (best == null || best.compareTo(limit) > 0); i++) {
      final Duration took = one.run();
      best = best == null || took.compareTo(best) < 0 ? took : best;
    }
    if (best.compareTo(limit) > 0) {
      throw new AssertionError(
          "%s: %d ms in the best of %d tries, the limit is %d ms"
              .formatted(what, best.toMillis(), TRIES, limit.toMillis()));
    }
  }
}
