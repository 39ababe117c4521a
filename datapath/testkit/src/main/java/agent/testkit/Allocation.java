package agent.testkit;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;

/** Bytes that the current thread allocates on the Java heap; the measurement allocates nothing. */
public final class Allocation {
  private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  private Allocation() {}

  /** Bytes that the calling thread has allocated since it started. */
  public static long bytes() {
    return THREADS.getCurrentThreadAllocatedBytes();
  }

  /** Bytes that the calling thread allocates while it runs the work the given number of times. */
  public static long of(final int times, final Runnable work) {
    final long before = bytes();
    for (int i = 0; i < times; i++) {
      work.run();
    }
    return bytes() - before;
  }
}
