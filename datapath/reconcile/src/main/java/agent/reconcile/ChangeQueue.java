package agent.reconcile;

import java.util.ArrayDeque;

/** Changes that wait to be realized, in their order. Reused. */
final class ChangeQueue {
  private final ArrayDeque<Request> waiting = new ArrayDeque<>();
  private final ArrayDeque<Request> unused = new ArrayDeque<>();

  /** A change and who waits for it. */
  static final class Request {
    private TableChanges changes;
    private Waiter waiter;

    TableChanges changes() {
      return changes;
    }
  }

  void add(TableChanges changes, Waiter waiter) {
    final Request request = unused.isEmpty() ? new Request() : unused.poll();
    request.changes = changes;
    request.waiter = waiter;
    waiting.add(request);
  }

  boolean isEmpty() {
    return waiting.isEmpty();
  }

  /** Removes the first request and returns it, or null. */
  Request poll() {
    return waiting.poll();
  }

  /** Ends a request, which is used again, and returns who waits for it. */
  Waiter end(Request ended) {
    final Waiter waiter = ended.waiter;
    ended.changes = null;
    ended.waiter = null;
    unused.add(ended);
    return waiter;
  }
}
