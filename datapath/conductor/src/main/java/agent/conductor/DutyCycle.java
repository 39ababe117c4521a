package agent.conductor;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Measures the duty cycles of one agent: a histogram of the durations of cycles with work, and a
 * stall where the current cycle exceeds its limit. The agent's thread writes, any thread reads.
 * Writing allocates nothing.
 */
public final class DutyCycle {
  /** Inclusive upper bounds of the buckets in nanoseconds; the last bucket is unbounded. */
  private static final long[] BOUNDS_NS = {
    1_000,
    4_000,
    16_000,
    64_000,
    256_000,
    1_000_000,
    4_000_000,
    16_000_000,
    64_000_000,
    256_000_000,
    1_000_000_000,
    4_000_000_000L
  };

  private final String name;
  private final long stallLimitNs;
  private final AtomicLongArray counts = new AtomicLongArray(BOUNDS_NS.length + 1);
  private volatile long totalNs;
  private volatile long longestNs;
  private volatile long beganNs;
  private volatile boolean isRunning;
  private volatile String failure;
  private volatile boolean isClosed;

  /**
   * Creates an empty histogram.
   *
   * @param name role name of the agent
   * @param stallLimitNs longest duty cycle in nanoseconds; a longer one is a stall
   */
  public DutyCycle(String name, long stallLimitNs) {
    if (stallLimitNs < 1) {
      throw new IllegalArgumentException(name + ": stall limit " + stallLimitNs + " ns");
    }
    this.name = name;
    this.stallLimitNs = stallLimitNs;
  }

  /** Returns the number of buckets, including the unbounded last one. */
  public static int buckets() {
    return BOUNDS_NS.length + 1;
  }

  /**
   * Returns the inclusive upper bound of a bucket in nanoseconds; {@link Long#MAX_VALUE} for the
   * last one.
   */
  public static long boundNs(int bucket) {
    return bucket == BOUNDS_NS.length ? Long.MAX_VALUE : BOUNDS_NS[bucket];
  }

  void begin(long nowNs) {
    beganNs = nowNs;
    isRunning = true;
  }

  /** Records the end of a cycle; does not count a cycle without work. */
  void end(long nowNs, int workCount) {
    isRunning = false;
    failure = null;
    if (workCount > 0) {
      record(nowNs - beganNs);
    }
  }

  /** Records a cycle that ended with an exception. */
  void fail(long nowNs, String message) {
    isRunning = false;
    failure = message;
    record(nowNs - beganNs);
  }

  void close() {
    isClosed = true;
  }

  private void record(long tookNs) {
    int bucket = 0;
    while (bucket < BOUNDS_NS.length && tookNs > BOUNDS_NS[bucket]) {
      bucket++;
    }
    counts.lazySet(bucket, counts.get(bucket) + 1);
    totalNs = totalNs + tookNs;
    longestNs = Math.max(longestNs, tookNs);
  }

  /** Returns the role name of the agent, which is also the name of its thread. */
  public String name() {
    return name;
  }

  /** Returns the longest duty cycle in nanoseconds; a longer one is a stall. */
  public long stallLimitNs() {
    return stallLimitNs;
  }

  /** Returns the number of cycles in one bucket, without those of lower buckets. */
  public long count(int bucket) {
    return counts.get(bucket);
  }

  /** Returns the sum of the durations of all counted cycles in nanoseconds. */
  public long totalNs() {
    return totalNs;
  }

  /** Returns the duration of the longest counted cycle in nanoseconds. */
  public long longestNs() {
    return longestNs;
  }

  /** Returns the current health: stopped, stalled, failed in the last cycle, or running. */
  HealthBoard.Reading health(long nowNs) {
    if (isClosed) {
      return HealthBoard.Reading.stopped("closed");
    }
    final long runsNs = isRunning ? nowNs - beganNs : 0;
    if (runsNs > stallLimitNs) {
      return HealthBoard.Reading.degraded(
          "stalled: the current cycle has run for %d ms, the limit is %d ms"
              .formatted(
                  TimeUnit.NANOSECONDS.toMillis(runsNs),
                  TimeUnit.NANOSECONDS.toMillis(stallLimitNs)));
    }
    final String message = failure;
    return message == null
        ? HealthBoard.Reading.ok("running")
        : HealthBoard.Reading.degraded("the last cycle failed: " + message);
  }
}
