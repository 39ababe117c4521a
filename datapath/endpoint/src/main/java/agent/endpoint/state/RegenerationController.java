package agent.endpoint.state;

import java.time.Duration;
import java.time.Instant;
import java.util.UUID;

/** Counts the builds of one endpoint and computes the pause before a retry. */
public final class RegenerationController {
  private static final int LARGEST_SHIFT = 20;

  private final String name;
  private final UUID uuid = UUID.randomUUID();
  private final Duration base;
  private final Duration max;
  private int consecutiveFailures;
  private int failures;
  private int successes;
  private String lastFailureMessage;
  private Instant lastFailure;
  private Instant lastSuccess;

  /** Creates counters without builds. */
  public RegenerationController(int endpointId, Duration base, Duration max) {
    this.name = "regenerate-endpoint-" + endpointId;
    this.base = base;
    this.max = max;
  }

  /** Counts a successful build. */
  public void succeeded(Instant now) {
    consecutiveFailures = 0;
    successes++;
    lastSuccess = now;
  }

  /** Counts a failed build. */
  public void failed(Instant now, String message) {
    consecutiveFailures++;
    failures++;
    lastFailure = now;
    lastFailureMessage = message;
  }

  /**
   * Returns the pause before the next retry: the base, doubled with each failure since the last
   * success.
   */
  public Duration pause() {
    final int shift = Math.min(Math.max(consecutiveFailures - 1, 0), LARGEST_SHIFT);
    final Duration pause = base.multipliedBy(1L << shift);
    return pause.compareTo(max) > 0 ? max : pause;
  }

  /** Returns the number of failures since the last success. */
  public int consecutiveFailures() {
    return consecutiveFailures;
  }

  /** Returns the counters. */
  public ControllerStatus status() {
    return new ControllerStatus(
        name,
        uuid,
        true,
        base,
        Duration.ZERO,
        consecutiveFailures,
        failures,
        successes,
        lastFailureMessage,
        lastFailure,
        lastSuccess);
  }
}
