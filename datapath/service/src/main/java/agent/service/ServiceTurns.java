package agent.service;

import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Consumer;

/**
 * The order of changes: those of one service are made one after the other, and each waits for those
 * of its service alone. A change may end on any thread; its end is seen by the next command, so
 * that no thread is woken for it where no other change waits. For the owner's thread.
 */
final class ServiceTurns {
  private static final int USUALLY_WAITING = 1;

  private final Runnable wake;
  private final Map<Integer, Turn> turns = new HashMap<>();
  private final Queue<Turn> ended = new ConcurrentLinkedQueue<>();

  /** The turn of one change. */
  final class Turn {
    private final int id;
    private final Queue<Consumer<Turn>> waiting = new ArrayDeque<>(USUALLY_WAITING);
    private volatile boolean isAwaited;
    private Runnable last;

    private Turn(int id) {
      this.id = id;
    }

    /**
     * Ends the turn, once; for any thread.
     *
     * @param settled runs on the owner's thread before any other change begins
     */
    void end(Runnable settled) {
      last = settled;
      ended.add(this);
      if (isAwaited) {
        wake.run();
      }
    }
  }

  /**
   * Creates the order of no changes.
   *
   * @param wake has the owner's thread call {@link #settle}; for any thread
   */
  ServiceTurns(Runnable wake) {
    this.wake = wake;
  }

  /** Returns whether a change of a service is at work, or waits. */
  boolean isTaken(int id) {
    return turns.containsKey(id);
  }

  /** Begins a change of a service: at once, or when those before it have ended. */
  void take(int id, Consumer<Turn> change) {
    final Turn taken = turns.get(id);
    if (taken == null) {
      final Turn own = new Turn(id);
      turns.put(id, own);
      change.accept(own);
    } else {
      taken.waiting.add(change);
      taken.isAwaited = true;
      settle(); // it may have ended before it could see that
    }
  }

  /** Ends the turns whose changes have ended, and begins those that wait for them. */
  void settle() {
    for (Turn next = ended.poll(); next != null; next = ended.poll()) {
      next.last.run();
      final Consumer<Turn> change = next.waiting.poll();
      if (change == null) {
        turns.remove(next.id);
      } else {
        next.isAwaited = !next.waiting.isEmpty();
        change.accept(next);
      }
    }
  }
}
