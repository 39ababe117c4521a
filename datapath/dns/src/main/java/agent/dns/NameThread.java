package agent.dns;

import agent.conductor.ThreadPriority;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Does the work on the names, one at a time: on a thread of its own, or, where none is at work, on
 * that of a caller for which a packet waits, since each change of threads adds to its time.
 */
final class NameThread implements Executor, AutoCloseable {
  private static final long CLOSE_MS = 3_000;

  private final ScheduledExecutorService thread =
      Executors.newSingleThreadScheduledExecutor(
          work ->
              Thread.ofPlatform().daemon().name("names").unstarted(ThreadPriority.raising(work)));

  /** Held by the thread that works. */
  private final ReentrantLock turn = new ReentrantLock();

  /**
   * Runs a task on the thread.
   *
   * @throws RejectedExecutionException after the end
   */
  @Override
  public void execute(Runnable work) {
    thread.execute(() -> inTurn(work));
  }

  /** Does something again and again, from now on. */
  void repeat(Runnable work, long pauseMs) {
    thread.scheduleWithFixedDelay(() -> inTurn(work), 0, pauseMs, TimeUnit.MILLISECONDS);
  }

  private void inTurn(Runnable work) {
    turn.lock();
    try {
      work.run();
    } finally {
      turn.unlock();
    }
  }

  /** Does something now, on the calling thread; returns false where another one is at work. */
  boolean isDoneNow(Runnable work) {
    if (turn.isHeldByCurrentThread() || !turn.tryLock()) {
      return false;
    }
    try {
      if (thread.isShutdown()) {
        return false;
      }
      work.run();
      return true;
    } finally {
      turn.unlock();
    }
  }

  /** Ends the thread after what it has to do. */
  @Override
  public void close() {
    thread.shutdown();
    try {
      thread.awaitTermination(CLOSE_MS, TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
