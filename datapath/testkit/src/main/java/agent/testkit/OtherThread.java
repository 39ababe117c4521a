package agent.testkit;

import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;

/**
 * A call of another thread. A test makes it while it is inside a change itself, as in a store that
 * the change writes to, and sees that the call waits for the end of the change.
 *
 * @param <T> what the call returns
 */
public final class OtherThread<T> {
  private static final int LOOKS = 20;
  private static final long LOOK_NS = 200_000;
  private static final long LONGEST_SEC = 30;
  private static final int SPINS = 500;

  /** Of two threads the one that comes last would always be ahead, as the other has to see it. */
  private static final int LATEST = 0xff;

  private final FutureTask<T> task;
  private final Thread thread;

  private OtherThread(Callable<T> call) {
    task = new FutureTask<>(call);
    thread = Thread.ofPlatform().daemon().start(task);
  }

  /** Makes a call in a thread of its own. */
  public static <T> OtherThread<T> call(Callable<T> call) {
    return new OtherThread<>(call);
  }

  /** Makes a call that returns nothing in a thread of its own. */
  public static OtherThread<Void> run(Runnable call) {
    return call(
        () -> {
          call.run();
          return null;
        });
  }

  /**
   * Runs both at one time, again and again, each time from one moment on; throws what one of them
   * has thrown.
   */
  public static void race(int rounds, Runnable first, Runnable second) throws Exception {
    collide(Collections.nCopies(rounds, rounds), round -> first.run(), round -> second.run());
  }

  /**
   * Calls with each of the objects in two threads, both at one moment, give or take some hundred
   * nanoseconds that differ from object to object; throws what one of them has thrown. Each thread
   * has a CPU: the scheduler of a node at work would have both take turns on one.
   */
  public static <T> void collide(List<T> objects, Consumer<T> first, Consumer<T> second)
      throws Exception {
    final AtomicInteger firstStep = new AtomicInteger();
    final AtomicInteger secondStep = new AtomicInteger();
    final OtherThread<Void> other =
        run(
            () -> {
              try (OneCpu _ = OneCpu.ofThisThread(1)) {
                inStep(objects, secondStep, firstStep, 0, second);
              }
            });
    try (OneCpu _ = OneCpu.ofThisThread(0)) {
      inStep(objects, firstStep, secondStep, LATEST, first);
    }
    other.result();
  }

  private static <T> void inStep(
      List<T> objects, AtomicInteger own, AtomicInteger other, int latest, Consumer<T> call) {
    try {
      for (final T next : objects) {
        int late = (int) System.nanoTime() & latest;
        final int step = own.incrementAndGet();
        for (int spins = 0; other.get() < step; spins++) {
          spin(spins);
        }
        while (late > 0 && own.get() > 0) { // a read takes about a nanosecond
          late--;
        }
        call.accept(next);
      }
    } finally {
      own.set(Integer.MAX_VALUE);
    }
  }

  /** The other thread may need this processor. */
  private static void spin(int spins) {
    if (spins % SPINS == SPINS - 1) {
      Thread.yield();
    } else {
      Thread.onSpinWait();
    }
  }

  /** Returns true as soon as the call is seen to wait, and false where it ends without. */
  public boolean waits() {
    int waiting = 0;
    while (waiting < LOOKS && !task.isDone()) {
      final Thread.State state = thread.getState();
      waiting = state == Thread.State.BLOCKED || state == Thread.State.WAITING ? waiting + 1 : 0;
      LockSupport.parkNanos(LOOK_NS);
    }
    return !task.isDone();
  }

  /** Waits for the call; returns what it returned, and throws what it has thrown. */
  public T result() throws Exception {
    try {
      return task.get(LONGEST_SEC, TimeUnit.SECONDS);
    } catch (ExecutionException failure) {
      if (failure.getCause() instanceof Error error) {
        throw error;
      }
      throw failure.getCause() instanceof Exception cause ? cause : failure;
    }
  }
}
