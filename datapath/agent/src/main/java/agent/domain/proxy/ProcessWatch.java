package agent.domain.proxy;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Ends a proxy process that does not answer: it is stopped, or the thread that follows the agent's
 * frames is stuck. Time counts as far as this process ran, too, and takes its frames, so that a
 * suspended machine, a busy one on which neither gets a processor, or a slow disk ends nothing. For
 * one thread.
 */
final class ProcessWatch {
  /** How long an answer may take. */
  static final long ANSWER_MS = Long.getLong("agent.proxies.answerMs", 30_000);

  /** The time from a question to the next one. */
  static final long PERIOD_MS = ANSWER_MS / 6;

  /** What counts of the time between two steps: this process did not run in the rest. */
  private static final long LONGEST_STEP_NS = TimeUnit.MILLISECONDS.toNanos(2 * PERIOD_MS);

  private final LongSupplier clockNs;
  private ProxyChild watched;
  private CompletableFuture<ProxyCounts> answer;
  private long waitedNs;
  private long lastNs;

  ProcessWatch(LongSupplier clockNs) {
    this.clockNs = clockNs;
    lastNs = clockNs.getAsLong();
  }

  /**
   * Asks the process, or waits for its answer.
   *
   * @param running a process that serves; null: there is none, or it has other limits, as one that
   *     is starting has
   */
  void step(ProxyChild running) {
    final long nowNs = clockNs.getAsLong();
    final long passedNs = Math.min(nowNs - lastNs, LONGEST_STEP_NS);
    lastNs = nowNs;
    if (running == null || !running.isAlive()) {
      watched = null;
    } else if (running != watched || answer.isDone()) {
      watched = running;
      answer = running.report(0);
      waitedNs = 0;
    } else if (!running.isAtWork()) {
      waitedNs += passedNs;
      if (waitedNs >= TimeUnit.MILLISECONDS.toNanos(ANSWER_MS)) {
        running.end("no answer for " + ANSWER_MS + " ms");
        watched = null;
      }
    }
  }
}
