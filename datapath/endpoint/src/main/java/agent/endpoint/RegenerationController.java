package agent.endpoint;

import java.time.Duration;
import java.time.Instant;
import java.util.UUID;

/** Counts the builds of one endpoint and says when the next try is due. */
final class RegenerationController {
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

  RegenerationController(int endpointId, Duration base, Duration max) {
    this.name = "regenerate-endpoint-" + endpointId;
    this.base = base;
    this.max = max;
  }

  void succeeded(Instant now) {
    consecutiveFailures = 0;
    successes++;
    lastSuccess = now;
  }

  void failed(Instant now, String message) {
    consecutiveFailures++;
    failures++;
    lastFailure = now;
    lastFailureMessage = message;
  }

  /** The pause before the next try: the base, doubled with each failure since the last success. */
  Duration pause() {
    final int shift = Math.min(Math.max(consecutiveFailures - 1, 0), LARGEST_SHIFT);
    final Duration pause = base.multipliedBy(1L << shift);
    return pause.compareTo(max) > 0 ? max : pause;
  }

  int consecutiveFailures() {
    return consecutiveFailures;
  }

  ControllerStatus status() {
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
