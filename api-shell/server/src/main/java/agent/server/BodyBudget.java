package agent.server;

import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * How many bytes of request bodies are at work at one time, from the first byte that is decoded to
 * the answer: what they hold is in the heap for so long. Small bodies have a budget of their own,
 * so that they never wait for large ones. Thread-safe.
 */
final class BodyBudget {
  private static final int SMALL_BYTES = 64 << 10;
  private static final int SMALL_BUDGET_BYTES = 8 << 20;
  private static final int BYTES_PER_PERMIT = 1 << 10;
  private static final long LONGEST_WAIT_SEC = 30;
  private static final int UNKNOWN_LENGTH = -1;

  private final Semaphore small;
  private final Semaphore large;
  private final long maxBodyBytes;

  /**
   * Creates a budget with room for one body of the largest size, and many small ones.
   *
   * @param maxBodyBytes the largest body
   */
  BodyBudget(long maxBodyBytes) {
    this(
        maxBodyBytes,
        new Semaphore(SMALL_BUDGET_BYTES / BYTES_PER_PERMIT, true),
        new Semaphore(permits(maxBodyBytes), true));
  }

  BodyBudget(long maxBodyBytes, Semaphore small, Semaphore large) {
    this.maxBodyBytes = maxBodyBytes;
    this.small = small;
    this.large = large;
  }

  private static int permits(long bytes) {
    return (int) Math.min(Integer.MAX_VALUE, 1 + bytes / BYTES_PER_PERMIT);
  }

  /** The share of one body; for the thread that serves it. */
  final class Share implements AutoCloseable {
    private Semaphore from;
    private int taken;

    private Share() {}

    /** Counts what was read: a body of unknown length may turn out to be a large one. */
    void read(long bytes) {
      if (bytes > SMALL_BYTES && from == small) {
        close();
        take(large, maxBodyBytes);
      }
    }

    private void take(Semaphore budget, long bytes) {
      final int wanted = permits(bytes);
      try {
        if (!budget.tryAcquire(wanted, LONGEST_WAIT_SEC, TimeUnit.SECONDS)) {
          throw HttpRefusal.withHeader(
              503, "body: too many large bodies are being read", "Retry-After", "5");
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw HttpRefusal.of(503, "the agent is stopping");
      }
      from = budget;
      taken = wanted;
    }

    /** Returns the share. */
    @Override
    public void close() {
      if (from != null) {
        from.release(taken);
        from = null;
      }
    }
  }

  /**
   * Acquires the share of a body; waits while none is free.
   *
   * @param contentLength its length, or -1
   * @throws HttpRefusal 503 where there is none in time
   */
  Share take(long contentLength) {
    final Share share = new Share();
    if (contentLength > SMALL_BYTES) {
      share.take(large, contentLength);
    } else {
      share.take(small, contentLength == UNKNOWN_LENGTH ? SMALL_BYTES : contentLength);
    }
    return share;
  }
}
