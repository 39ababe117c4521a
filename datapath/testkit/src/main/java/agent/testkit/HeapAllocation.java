package agent.testkit;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;

/**
 * Measures the bytes that a thread allocates on the Java heap; the measurement allocates nothing.
 */
public final class HeapAllocation {
  private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  private static final int WINDOWS = 12;
  private static final int OTHER_THREADS_WINDOWS = 5;

  private HeapAllocation() {}

  /** Returns the bytes that the calling thread has allocated since it started. */
  public static long bytes() {
    return THREADS.getCurrentThreadAllocatedBytes();
  }

  /** Returns the bytes that a thread has allocated since it started. */
  public static long bytes(Thread thread) {
    return THREADS.getThreadAllocatedBytes(thread.threadId());
  }

  /**
   * Runs the work the given number of times and returns the bytes that the calling thread
   * allocates.
   */
  public static long of(int times, Runnable work) {
    final long before = bytes();
    for (int i = 0; i < times; i++) {
      work.run();
    }
    return bytes() - before;
  }

  /**
   * Returns the bytes that the work allocates in the steady state. The work runs in windows of the
   * given number of times; the result is the smallest count of a window. The JIT compiler links
   * call sites on the calling thread, which allocates some hundred bytes in single windows; an
   * allocation of the work itself appears in every window.
   */
  public static long steady(int times, Runnable work) {
    long least = Long.MAX_VALUE;
    for (int window = 0; window < WINDOWS && least > 0; window++) {
      least = Math.min(least, of(times, work));
    }
    return least;
  }

  /**
   * Returns the bytes that the work of another thread allocates, as {@link #steady(int, Runnable)}
   * does.
   */
  public static long steady(Thread thread, Window window) throws Exception {
    long least = Long.MAX_VALUE;
    for (int i = 0; i < OTHER_THREADS_WINDOWS && least > 0; i++) {
      final long before = bytes(thread);
      window.run();
      least = Math.min(least, bytes(thread) - before);
    }
    return least;
  }

  /** Makes another thread do its work and waits until it is done. */
  @FunctionalInterface
  public interface Window {
    void run() throws Exception;
  }
}
