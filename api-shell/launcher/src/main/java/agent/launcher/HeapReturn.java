package agent.launcher;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryMXBean;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Returns memory to the system that a large request needed, or that a change has freed. The
 * collector gives the heap back only in a full collection, which otherwise comes when the heap is
 * full again. So one is made where the heap is large, has grown or a change was made, and next to
 * nothing is allocated any more: the pause then meets no request. After a change a second one
 * follows: what was on its way to the disk or to a client during the first is free by then.
 *
 * <p>An agent that is asked all the time is never quiet. One is made there, too, where the heap has
 * grown for a minute; where that returns little, the agent needs it, and the next one comes after
 * twice the time.
 */
final class HeapReturn implements AutoCloseable {
  static final long LARGE_BYTES = 64L << 20;
  static final long GROWN_BYTES = 32L << 20;
  static final int LEAST_LOOKS_BETWEEN = 5;
  private static final int COLLECTIONS_AFTER_CHANGE = 2;
  static final long QUIET_BYTES = 8L << 20;
  private static final long INTERVAL_SEC = 2;

  /** A minute, and an hour. */
  static final int LEAST_BUSY_LOOKS = 30;

  static final int MOST_BUSY_LOOKS = 1800;

  private final LongSupplier committedBytes;
  private final LongSupplier allocatedBytes;
  private final LongSupplier changes;
  private final Runnable collect;
  private final CountDownLatch closing = new CountDownLatch(1);
  private long settledBytes;
  private long seenChanges;
  private int owed;
  private long allocatedBefore;
  private int looks = LEAST_LOOKS_BETWEEN;
  private int busyLooks = LEAST_BUSY_LOOKS;

  HeapReturn(
      LongSupplier committedBytes,
      LongSupplier allocatedBytes,
      LongSupplier changes,
      Runnable collect) {
    this.committedBytes = committedBytes;
    this.allocatedBytes = allocatedBytes;
    this.changes = changes;
    this.collect = collect;
    seenChanges = changes.getAsLong();
    allocatedBefore = allocatedBytes.getAsLong();
  }

  /**
   * Starts the thread that looks every few seconds.
   *
   * @param changes how many changes were made since the start
   */
  static HeapReturn start(LongSupplier changes) {
    final MemoryMXBean memory = ManagementFactory.getMemoryMXBean();
    final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    final HeapReturn heap =
        new HeapReturn(
            () -> memory.getHeapMemoryUsage().getCommitted(),
            threads::getTotalThreadAllocatedBytes,
            changes,
            System::gc);
    Thread.ofPlatform().daemon().name("heap-return").start(heap::run);
    return heap;
  }

  private void run() {
    try {
      while (!closing.await(INTERVAL_SEC, TimeUnit.SECONDS)) {
        look();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Collects where the agent is quiet and memory may be there that it does not need. */
  void look() {
    looks++;
    final long allocated = allocatedBytes.getAsLong();
    final boolean isQuiet = allocated - allocatedBefore < QUIET_BYTES;
    allocatedBefore = allocated;
    final long committed = committedBytes.getAsLong();
    settledBytes = Math.min(settledBytes, committed);
    final long made = changes.getAsLong();
    if (made != seenChanges) {
      seenChanges = made;
      owed = COLLECTIONS_AFTER_CHANGE;
    }
    final boolean hasGrown = committed - settledBytes >= GROWN_BYTES;
    if (committed < LARGE_BYTES || looks < LEAST_LOOKS_BETWEEN) {
      return;
    }
    if (isQuiet && (hasGrown || owed > 0)) {
      collect();
      owed = Math.max(0, owed - 1);
    } else if (!isQuiet && hasGrown && looks >= busyLooks) {
      collect();
      final boolean isReturned = committed - settledBytes >= GROWN_BYTES;
      busyLooks = isReturned ? LEAST_BUSY_LOOKS : Math.min(MOST_BUSY_LOOKS, 2 * busyLooks);
    }
  }

  private void collect() {
    collect.run();
    settledBytes = committedBytes.getAsLong();
    looks = 0;
  }

  @Override
  public void close() {
    closing.countDown();
  }
}
