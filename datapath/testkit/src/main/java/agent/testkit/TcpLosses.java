package agent.testkit;

/**
 * Counts the TCP segments of a namespace that were lost: those that it sent again, less those of
 * which the peer reported that they came twice (RFC 2883), since a loaded machine sends segments
 * again that were not lost.
 */
public final class TcpLosses {
  private static final int REPORTS_MS = 5000;
  private static final int STEP_MS = 20;

  private final NetworkNamespace namespace;
  private final long before;

  private TcpLosses(NetworkNamespace namespace) {
    this.namespace = namespace;
    before = count();
  }

  /** Begins to count. */
  public static TcpLosses of(NetworkNamespace namespace) {
    return new TcpLosses(namespace);
  }

  /** Returns the number of lost segments; waits for the reports of the peers. */
  public long lost() {
    final long deadline = System.nanoTime() + REPORTS_MS * 1_000_000L;
    long lost = count() - before;
    while (lost > 0 && System.nanoTime() < deadline) {
      TcpConnection.pause(STEP_MS);
      lost = count() - before;
    }
    return Math.max(0, lost);
  }

  private long count() {
    final NetworkCounters counters = NetworkCounters.of(namespace);
    return counters.value("Tcp:RetransSegs") - counters.value("TcpExt:TCPDSACKRecv");
  }
}
