package agent.testkit;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;

/** Bytes that a thread allocates on the Java heap; the measurement allocates nothing. */
public final class HeapAllocation {
  private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  private static final int WINDOWS = 12;
  private static final int OTHER_THREADS_WINDOWS = 5;

  private HeapAllocation() {}

  /** Bytes that the calling thread has allocated since it started. */
  public static long bytes() {
    return THREADS.getCurrentThreadAllocatedBytes();
  }

  /** Bytes that a thread has allocated since it started. */
  public static long bytes(Thread thread) {
    return THREADS.getThreadAllocatedBytes(thread.threadId());
  }

  /** Bytes that the calling thread allocates while it runs the work the given number of times. */
  public static long of(int times, Runnable work) {
    final long before = bytes();
    for (int i = 0; i < times; i++) {
      work.run();
    }
    return bytes() - before;
  }

  /**
   * Bytes that the work allocates once it is warm: of windows of the given number of times each,
   * the first that allocates nothing, or else the least. The compiler links call sites on the
   * calling thread, some hundred bytes now and then, which are not the work's; what the work
   * allocates shows in every window.
   */
  public static long steady(int times, Runnable work) {
    long least = Long.MAX_VALUE;
    for (int window = 0; window < WINDOWS && least > 0; window++) {
      least = Math.min(least, of(times, work));
    }
    return least;
  }

  /** What {@link #steady(int, Runnable)} measures, of a window's work on another thread. */
  public static long steady(Thread thread, Window window) throws Exception {
    long least = Long.MAX_VALUE;
    for (int i = 0; i < OTHER_THREADS_WINDOWS && least > 0; i++) {
      final long before = bytes(thread);
      window.run();
      least = Math.min(least, bytes(thread) - before);
    }
    return least;
  }

  /** Has another thread do its work, and returns when that is done. */
  @FunctionalInterface
  public interface Window {
    void run() throws Exception;
  }
}
