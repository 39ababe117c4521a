package agent.testkit;

import com.sun.management.HotSpotDiagnosticMXBean;
import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Assumptions;

/**
 * Measures the bytes that a thread allocates on the Java heap; the measurement allocates nothing.
 */
public final class HeapAllocation {
  private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  /** Time after which what still allocates is not a matter of compilation, in nanoseconds. */
  private static final long COMPILED_NS = TimeUnit.SECONDS.toNanos(30);

  /** Whether the compiler runs that removes allocations; it does not on an emulated processor. */
  private static final boolean HAS_C2 =
      ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class)
          .getVMOption("TieredStopAtLevel")
          .getValue()
          .equals("4");

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
   * given number of times until a window allocates nothing or 30 seconds have passed; the result is
   * the smallest count of a window. Escape analysis removes allocations only once C2 has compiled
   * the work, which takes seconds on a busy machine, and the JIT compiler links call sites on the
   * calling thread. An allocation of the work itself appears in every window. Without C2 the test
   * is left out.
   */
  public static long steady(int times, Runnable work) {
    return least(() -> of(times, work), COMPILED_NS);
  }

  /**
   * Returns the bytes that the work of another thread allocates, as {@link #steady(int, Runnable)}
   * does.
   */
  public static long steady(Thread thread, Work work) throws Exception {
    return least(
        () -> {
          final long before = bytes(thread);
          work.run();
          return bytes(thread) - before;
        },
        COMPILED_NS);
  }

  /** Returns the smallest count of windows that measure themselves, as the other methods do. */
  public static <E extends Exception> long steady(Window<E> window) throws E {
    return least(window, COMPILED_NS);
  }

  static <E extends Exception> long least(Window<E> window, long limitNs) throws E {
    Assumptions.assumeTrue(HAS_C2, "the JVM runs without C2");
    final long start = System.nanoTime();
    long least = Long.MAX_VALUE;
    do {
      least = Math.min(least, window.bytes());
    } while (least > 0 && System.nanoTime() - start < limitNs);
    return least;
  }

  /** Makes another thread do its work and waits until it is done. */
  @FunctionalInterface
  public interface Work {
    void run() throws Exception;
  }

  /** Does the work and returns the bytes that it allocated. */
  @FunctionalInterface
  public interface Window<E extends Exception> {
    long bytes() throws E;
  }
}
