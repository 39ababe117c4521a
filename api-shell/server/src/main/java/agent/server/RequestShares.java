package agent.server;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The requests that are at work: so many in all, and a share for each peer process, so that one
 * process cannot keep others from being served. Thread-safe.
 */
final class RequestShares {
  /** Of a peer in another PID namespace there is no number, and so no share. */
  private static final int NO_PROCESS = 0;

  private final int limit;
  private final int share;
  private final Map<Integer, Integer> atWork = new HashMap<>();
  private int total;

  /**
   * Creates the shares.
   *
   * @param limit most requests at work
   * @param share most requests at work of one process
   */
  RequestShares(int limit, int share) {
    this.limit = limit;
    this.share = share;
  }

  /**
   * Counts a request until the task that is returned runs; it may run more than once.
   *
   * @throws HttpRefusal with status 503 where there is no room
   */
  Runnable enter(int process) {
    synchronized (atWork) {
      if (total >= limit) {
        throw refusal("there are " + total + " requests at work, which is the limit");
      }
      final int own = atWork.getOrDefault(process, 0);
      if (own >= share && process != NO_PROCESS) {
        throw refusal("process " + process + " has " + own + " requests at work, its share");
      }
      total++;
      atWork.put(process, own + 1);
    }
    final AtomicBoolean hasLeft = new AtomicBoolean();
    return () -> {
      if (hasLeft.compareAndSet(false, true)) {
        leave(process);
      }
    };
  }

  private void leave(int process) {
    synchronized (atWork) {
      total--;
      atWork.computeIfPresent(process, (pid, count) -> count == 1 ? null : count - 1);
    }
  }

  private static HttpRefusal refusal(String message) {
    return HttpRefusal.withHeader(503, message, "Retry-After", "1");
  }
}
