package agent.dns;

import agent.conductor.AgentThreads;
import agent.conductor.ConductorAgent;
import agent.conductor.Faults;
import agent.conductor.ThreadPriority;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The conductor of the names: it executes commands, and a cycle again and again, on its thread, or,
 * where that is not at work, on that of a caller for which a packet waits, since each change of
 * threads adds to its time.
 */
final class NameThread extends ConductorAgent implements AutoCloseable {
  private static final long STALL_NS = TimeUnit.SECONDS.toNanos(2);

  private final Runnable last;

  /** Held by the thread that works. */
  private final ReentrantLock turn = new ReentrantLock();

  private AgentThreads.Started started;
  private volatile boolean isEnded;

  /**
   * Creates the conductor without starting its thread.
   *
   * @param last what it does when it is closed
   */
  NameThread(Runnable last) {
    super("names", System::nanoTime);
    this.last = last;
  }

  /** Starts the thread; called once. */
  void start(AgentThreads threads, Faults faults) {
    started = threads.start(this, STALL_NS, faults);
  }

  /** Executes a command in turn; otherwise as {@link #run}. */
  CompletableFuture<Void> execute(Runnable work) {
    return run(() -> inTurn(work));
  }

  /** Does something again and again, from now on. */
  void repeat(Runnable work, long pauseMs) {
    run(() -> again(work, TimeUnit.MILLISECONDS.toNanos(pauseMs)));
  }

  private void again(Runnable work, long pauseNs) {
    inTurn(work);
    schedule(pauseNs, () -> again(work, pauseNs));
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
      if (isEnded) {
        return false;
      }
      work.run();
      return true;
    } finally {
      turn.unlock();
    }
  }

  @Override
  public void onStart() {
    ThreadPriority.raise();
  }

  @Override
  protected void closed() {
    inTurn(
        () -> {
          isEnded = true;
          last.run();
        });
  }

  /** Ends the thread. */
  @Override
  public void close() {
    started.close();
  }
}
