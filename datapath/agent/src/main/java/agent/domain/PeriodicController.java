package agent.domain;

import agent.conductor.ConductorAgent;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.UUID;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * A task that runs at an interval on the thread of an agent or of its own, with its successes and
 * failures. A failed run is logged where its message is new, and repeated after the interval. Any
 * thread may read the counters.
 */
public final class PeriodicController {
  private static final Logger LOGGER = LogManager.getLogger(PeriodicController.class);

  private final String name;
  private final UUID uuid = UUID.randomUUID();
  private final Duration interval;
  private final InstantSource clock;
  private final Runnable task;
  private long successes;
  private long failures;
  private long consecutiveFailures;
  private Instant lastSuccess;
  private Instant lastFailure;
  private String lastFailureMessage;

  /**
   * What the runs came to.
   *
   * @param consecutiveFailures runs that failed since the last one that succeeded
   * @param failures all runs that failed
   * @param successes all runs that succeeded
   * @param lastFailureMessage why the last one of those that failed did; null: none has
   * @param lastFailure when that was, or null
   * @param lastSuccess when the last one succeeded, or null
   */
  public record Status(
      long consecutiveFailures,
      long failures,
      long successes,
      String lastFailureMessage,
      Instant lastFailure,
      Instant lastSuccess) {}

  /**
   * Creates a controller that does not run yet.
   *
   * @param name unique name
   * @param interval the pause between two runs
   * @param clock the clock of the timestamps
   * @param task a run; it fails by an exception
   */
  public PeriodicController(String name, Duration interval, InstantSource clock, Runnable task) {
    this.name = name;
    this.interval = interval;
    this.clock = clock;
    this.task = task;
  }

  /** Starts to run the task on the thread of the agent; the first run is after one interval. */
  public void start(ConductorAgent agent) {
    agent.schedule(
        interval.toNanos(),
        () -> {
          run();
          start(agent);
        });
  }

  /** Starts to run the task on threads that may wait; the first run is after one interval. */
  public void start(ScheduledExecutorService threads) {
    threads.scheduleWithFixedDelay(
        this::run, interval.toNanos(), interval.toNanos(), TimeUnit.NANOSECONDS);
  }

  void run() {
    try {
      task.run();
      succeeded();
    } catch (RuntimeException failure) {
      failed(String.valueOf(failure.getMessage()));
    }
  }

  private synchronized void succeeded() {
    if (consecutiveFailures > 0) {
      LOGGER.info("{}: succeeds again after {} failures", name, consecutiveFailures);
    }
    consecutiveFailures = 0;
    successes++;
    lastSuccess = clock.instant();
  }

  private synchronized void failed(String message) {
    if (consecutiveFailures == 0 || !message.equals(lastFailureMessage)) {
      LOGGER.warn("{}: {}; again in {} ms", name, message, interval.toMillis());
    }
    consecutiveFailures++;
    failures++;
    lastFailure = clock.instant();
    lastFailureMessage = message;
  }

  /** Returns the unique name. */
  public String name() {
    return name;
  }

  /** Returns what tells this controller from one of the same name in another run. */
  public UUID uuid() {
    return uuid;
  }

  /** Returns the pause between two runs. */
  public Duration interval() {
    return interval;
  }

  /** Returns what the runs came to so far. */
  public synchronized Status status() {
    return new Status(
        consecutiveFailures, failures, successes, lastFailureMessage, lastFailure, lastSuccess);
  }
}
