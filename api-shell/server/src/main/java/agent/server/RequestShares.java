package agent.server;

import agent.server.socket.Peer;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The requests that are at work: so many in all, and a share for each peer, so that one cannot keep
 * others from being served. Processes have a share each. Peers in other PID namespaces, of which
 * there may be any number, have one share together, and each of them at most as much as it leaves
 * free to the others. Thread-safe.
 */
final class RequestShares {
  private final int limit;
  private final int share;
  private final Map<Peer, Integer> atWork = new HashMap<>();
  private int total;
  private int ofOtherNamespaces;

  /**
   * Creates the shares.
   *
   * @param limit most requests at work
   * @param share most requests at work of one process, or of all other PID namespaces
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
  Runnable enter(Peer peer) {
    synchronized (atWork) {
      if (total >= limit) {
        throw refusal("limit of " + total + " concurrent requests reached");
      }
      final int own = atWork.getOrDefault(peer, 0);
      if (own >= (peer.isProcess() ? share : share - ofOtherNamespaces)) {
        throw refusal(peer + " already has " + own + " concurrent requests, its share");
      }
      add(peer, 1);
    }
    final AtomicBoolean hasLeft = new AtomicBoolean();
    return () -> {
      if (hasLeft.compareAndSet(false, true)) {
        leave(peer);
      }
    };
  }

  private void leave(Peer peer) {
    synchronized (atWork) {
      add(peer, -1);
    }
  }

  private void add(Peer peer, int count) {
    total += count;
    ofOtherNamespaces += peer.isProcess() ? 0 : count;
    atWork.merge(peer, count, (own, more) -> own + more == 0 ? null : own + more);
  }

  private static HttpRefusal refusal(String message) {
    return HttpRefusal.withHeader(503, message, "Retry-After", "1");
  }
}
