package agent.domain;

import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Threads that write state files. Files that are synced at the same time share a commit of the file
 * system's journal, so that a group of them takes about as long as one.
 */
final class StateWriters implements Executor, AutoCloseable {
  private static final Logger LOGGER = LogManager.getLogger(StateWriters.class);
  private static final int THREADS = 8;
  private static final long IDLE_SEC = 5;
  private static final long LONGEST_CLOSE_SEC = 10;

  private final AtomicInteger number = new AtomicInteger();
  private final ThreadPoolExecutor threads =
      new ThreadPoolExecutor(
          THREADS, THREADS, IDLE_SEC, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), this::thread);

  StateWriters() {
    threads.allowCoreThreadTimeOut(true);
  }

  private Thread thread(Runnable work) {
    final Thread thread = new Thread(work, "state-writer-" + number.incrementAndGet());
    thread.setDaemon(true);
    return thread;
  }

  @Override
  public void execute(Runnable write) {
    threads.execute(write);
  }

  /** Waits for the writes that have begun. */
  @Override
  public void close() {
    threads.shutdown();
    try {
      if (!threads.awaitTermination(LONGEST_CLOSE_SEC, TimeUnit.SECONDS)) {
        LOGGER.warn("writing state files is not finished after {} s", LONGEST_CLOSE_SEC);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
