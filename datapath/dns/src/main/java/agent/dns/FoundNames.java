package agent.dns;

import agent.dns.NameResolver.Resolved;
import agent.types.OperationException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;

/** What was found for endpoints and waits for the thread of the names. Thread-safe; bounded. */
final class FoundNames {
  static final int MOST = 20_000;
  private static final int MOST_IN_GROUP = 4_000;
  private static final String NOT_STORED = "storing new addresses of names failed";

  /**
   * An answer.
   *
   * @param enforced to be completed when rules use its addresses; null: no caller waits
   */
  record Found(int endpointId, String name, Resolved answer, CompletableFuture<Void> enforced) {}

  private final ConcurrentLinkedQueue<Found> queue = new ConcurrentLinkedQueue<>();
  private final AtomicInteger length = new AtomicInteger();

  /**
   * Whether a name has the characters alone that names of rules have, which are those of the store.
   */
  static boolean canBeSelected(String name) {
    for (int i = 0; i < name.length(); i++) {
      final char one = name.charAt(i);
      final boolean isLetter = one >= 'a' && one <= 'z' || one == '-' || one == '_';
      if (!isLetter && (one < '0' || one > '9') && (one != '.' || i == 0)) {
        return false;
      }
    }
    return true;
  }

  /**
   * Adds an answer.
   *
   * @throws OperationException where too many wait
   */
  void add(Found found) {
    if (length.incrementAndGet() > MOST) {
      length.decrementAndGet();
      throw new OperationException(MOST + " answers are already waiting for the rules");
    }
    queue.add(found);
  }

  boolean isEmpty() {
    return queue.isEmpty();
  }

  /**
   * Removes and returns what waits, at most so many that the thread goes on with its other work.
   */
  List<Found> take() {
    final List<Found> group = new ArrayList<>();
    Found next = queue.poll();
    while (next != null) {
      length.decrementAndGet();
      group.add(next);
      next = group.size() < MOST_IN_GROUP ? queue.poll() : null;
    }
    return group;
  }

  /** Completes those that wait, or has them fail where what they wait for is not stored. */
  static void end(List<CompletableFuture<Void>> waiting, boolean isStored) {
    for (final CompletableFuture<Void> one : waiting) {
      if (isStored) {
        one.complete(null);
      } else {
        one.completeExceptionally(new OperationException(NOT_STORED));
      }
    }
  }
}
