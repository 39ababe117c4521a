package agent.testkit;

/**
 * Measures what the kernel needs until no CPU runs what it ran before, which many updates wait for.
 */
public final class GracePeriod {
  private GracePeriod() {}

  /**
   * Waits for a grace period of RCU, by {@code MEMBARRIER_CMD_GLOBAL} of membarrier(2), and returns
   * how long it took.
   */
  public static long elapsedNs() {
    final long startNs = System.nanoTime();
    SystemCalls.awaitGracePeriod();
    return System.nanoTime() - startNs;
  }
}
