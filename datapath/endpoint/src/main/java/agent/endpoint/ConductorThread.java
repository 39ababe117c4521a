package agent.endpoint;

import java.time.Duration;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;

/** The one thread that owns endpoints, policy and identities, and its queue. */
public interface ConductorThread {
  /**
   * Runs the work after all that was given before.
   *
   * @param work what to run
   * @throws java.util.concurrent.RejectedExecutionException after {@link #close}
   */
  void execute(Runnable work);

  /**
   * Runs the work when the time is over; never after {@link #close}.
   *
   * @param delay how long to wait
   * @param work what to run
   */
  void schedule(Duration delay, Runnable work);

  /** Takes no more work, and waits a while for what is running. */
  void close();

  /**
   * A thread named {@code ep-conductor}.
   *
   * @param factory makes it; it lives in the network namespace of the workloads' host sides
   * @return the running thread
   */
  static ConductorThread start(ThreadFactory factory) {
    final ScheduledThreadPoolExecutor executor =
        new ScheduledThreadPoolExecutor(
            1,
            work -> {
              final Thread thread = factory.newThread(work);
              thread.setName("ep-conductor");
              return thread;
            });
    executor.setRemoveOnCancelPolicy(true);
    executor.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    executor.prestartAllCoreThreads();
    return new ConductorThread() {
      private static final int CLOSE_SEC = 30;

      @Override
      public void execute(Runnable work) {
        executor.execute(work);
      }

      @Override
      public void schedule(Duration delay, Runnable work) {
        if (!executor.isShutdown()) {
          executor.schedule(work, delay.toNanos(), TimeUnit.NANOSECONDS);
        }
      }

      @Override
      public void close() {
        executor.shutdown();
        try {
          if (!executor.awaitTermination(CLOSE_SEC, TimeUnit.SECONDS)) {
            executor.shutdownNow();
          }
        } catch (InterruptedException interrupted) {
          executor.shutdownNow();
          Thread.currentThread().interrupt();
        }
      }
    };
  }
}
