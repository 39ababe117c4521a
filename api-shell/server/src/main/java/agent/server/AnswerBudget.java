package agent.server;

import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * How much the answers that are being written may keep from being freed, while their source changes
 * and slow clients read them. Small answers are not counted. Thread-safe.
 */
public final class AnswerBudget {
  private static final long LONGEST_WAIT_SEC = 30;

  private final int most;
  private final int small;
  private final Semaphore units;

  /**
   * Creates a budget.
   *
   * @param most units at one time; an answer that has more is alone
   * @param small answers with fewer units are not counted
   */
  public AnswerBudget(int most, int small) {
    this(most, small, new Semaphore(most, true));
  }

  AnswerBudget(int most, int small, Semaphore units) {
    this.most = most;
    this.small = small;
    this.units = units;
  }

  /** Returns whether an answer of this size needs a share. */
  public boolean isLarge(long size) {
    return size >= small;
  }

  /** The share of one answer. */
  @FunctionalInterface
  public interface Share extends AutoCloseable {
    /** Returns the share. */
    @Override
    void close();
  }

  /**
   * Acquires the share of an answer; waits while none is free.
   *
   * @param size its units
   * @throws HttpRefusal 503 where there is none in time
   */
  public Share take(long size) throws InterruptedException {
    final int wanted = (int) Math.min(most, size);
    if (!units.tryAcquire(wanted, LONGEST_WAIT_SEC, TimeUnit.SECONDS)) {
      throw HttpRefusal.withHeader(
          503, "too many clients are reading large answers", "Retry-After", "5");
    }
    return () -> units.release(wanted);
  }
}
