package agent.conductor;

import agent.bindings.EventPoll;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.agrona.concurrent.IdleStrategy;

/**
 * Spins, and then parks until it is woken, a watched descriptor has input, or a timeout has passed.
 * It does not yield: the kernel gives a whole slice, of milliseconds, to what works at length then,
 * while a thread that is woken precedes it. Without a watched descriptor it makes no system call to
 * wake a thread that is not parked.
 */
public final class ParkingIdleStrategy implements IdleStrategy {
  private static final int SPINS = 20;
  private static final long PARK_NS = 100_000_000;
  private static final int PARK_MS = (int) TimeUnit.NANOSECONDS.toMillis(PARK_NS);

  private volatile Thread thread;
  private volatile EventPoll poll;
  private volatile boolean isPolling;
  private volatile boolean isWoken;
  private volatile boolean isStopped;
  private boolean hasInput;
  private int turns;
  private long mostNs = PARK_NS;

  /** Ends the current or the next park; for any thread. */
  public void wake() {
    final EventPoll watched = poll;
    if (watched == null) {
      LockSupport.unpark(thread);
    } else {
      isWoken = true;
      if (isPolling) {
        watched.wakeUp();
      }
    }
  }

  /** Ends the next park after so long at the latest, if it watches nothing; for the same thread. */
  public void parkAtMost(long nanoseconds) {
    mostNs = Math.min(PARK_NS, nanoseconds);
  }

  /** Ends parks when this descriptor has input, too; for the parking thread. */
  public void watch(int descriptor) {
    if (poll == null) {
      poll = new EventPoll();
    }
    poll.add(descriptor);
  }

  /**
   * Returns whether input of a watched descriptor has ended a park since the last call; for the
   * parking thread. While the thread is too busy to park, it is not known whether there is input.
   */
  public boolean takeInput() {
    final boolean had = hasInput;
    hasInput = false;
    return had;
  }

  /** Releases what {@link #watch} has opened; for the parking thread. */
  public void close() {
    if (poll != null) {
      poll.close();
    }
  }

  /** Stops parking, so that the agent can be closed without delay; for any thread. */
  public void stop() {
    isStopped = true;
    wake();
  }

  @Override
  public void idle(int workCount) {
    if (workCount > 0) {
      turns = 0;
    } else {
      idle();
    }
  }

  @Override
  public void idle() {
    if (turns < SPINS) {
      Thread.onSpinWait();
      turns++;
    } else if (thread == null) {
      thread = Thread.currentThread();
    } else if (!isStopped) {
      park();
    }
  }

  private void park() {
    if (poll == null) {
      LockSupport.parkNanos(mostNs);
      return;
    }
    isPolling = true; // a waker that does not see it has set isWoken before
    if (!isWoken) {
      hasInput |= poll.await(PARK_MS) > 0;
    }
    isPolling = false;
    isWoken = false;
  }

  @Override
  public void reset() {
    turns = 0;
  }

  @Override
  public String alias() {
    return "park";
  }
}
