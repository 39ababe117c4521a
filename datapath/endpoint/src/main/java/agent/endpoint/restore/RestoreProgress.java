package agent.endpoint.restore;

import agent.conductor.Faults;
import agent.conductor.HealthBoard;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * How far the restoration of the previous run's endpoints is, as a health module: degraded until it
 * has ended, and while resources of endpoints that no longer exist cannot be removed. The
 * conductor's thread writes it, any thread reads it.
 */
public final class RestoreProgress implements HealthBoard.Probe {
  private static final Logger LOGGER = LogManager.getLogger(RestoreProgress.class);
  private static final long LOG_INTERVAL_NS = 5_000_000_000L;

  private final Faults faults = new Faults("no endpoint is being restored");
  private volatile int total;
  private volatile int done;
  private volatile boolean isEnded;
  private long loggedNs;

  /** Creates the progress of a restoration that has not begun. */
  public RestoreProgress() {}

  /** Sets the number of endpoints to restore. */
  void begin(int count, long nowNs) {
    total = count;
    loggedNs = nowNs;
    if (count > 0) {
      LOGGER.info("{}", message());
    }
  }

  /** Counts one endpoint, restored or failed; logs the progress at most every 5 seconds. */
  void count(long nowNs) {
    done = done + 1; // one writer
    if (nowNs - loggedNs >= LOG_INTERVAL_NS) {
      loggedNs = nowNs;
      LOGGER.info("{}", message());
    }
  }

  void end() {
    isEnded = true;
  }

  /** Returns the faults of removals of resources without an endpoint. */
  Faults faults() {
    return faults;
  }

  private String message() {
    return "restoring: %d of %d endpoints".formatted(done, total);
  }

  @Override
  public HealthBoard.Reading read() {
    return isEnded || total == 0 ? faults.read() : HealthBoard.Reading.degraded(message());
  }
}
