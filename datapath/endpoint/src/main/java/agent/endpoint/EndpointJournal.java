package agent.endpoint;

import java.time.Duration;
import java.time.InstantSource;
import java.util.function.Consumer;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Writes transitions down, in the endpoint's log and the agent's, shows the endpoint as it is then,
 * and has failed builds tried again.
 */
final class EndpointJournal {
  private static final Logger LOGGER = LogManager.getLogger(EndpointJournal.class);

  private final EndpointRegistry registry;
  private final ConductorThread thread;
  private final InstantSource clock;
  private Consumer<Endpoint> retry = endpoint -> {};
  private Endpoint building;

  EndpointJournal(EndpointRegistry registry, ConductorThread thread, InstantSource clock) {
    this.registry = registry;
    this.thread = thread;
    this.clock = clock;
  }

  /** Who tries again. */
  void onRetry(Consumer<Endpoint> work) {
    retry = work;
  }

  /** The endpoint whose whole build runs now, null where none does: it tells its own end. */
  void building(Endpoint endpoint) {
    building = endpoint;
  }

  boolean isBuilding(Endpoint endpoint) {
    return building == endpoint;
  }

  void note(Endpoint endpoint, EndpointState next, String message) {
    endpoint.transition(next, message, clock.instant());
    LOGGER.debug("endpoint {}: {}: {}", endpoint.id(), next.text(), message);
    registry.publish(endpoint);
  }

  /** A build ended well. */
  void succeeded(Endpoint endpoint, String message) {
    endpoint.controller().succeeded(clock.instant());
    endpoint.error(null);
    note(endpoint, EndpointState.READY, message);
  }

  /** A build failed; the next try is planned. */
  void failed(Endpoint endpoint, RuntimeException failure) {
    final String message = String.valueOf(failure.getMessage());
    endpoint.controller().failed(clock.instant(), message);
    endpoint.error(message);
    endpoint.transition(
        EndpointState.NOT_READY,
        endpoint.attached() == null ? HealthLevel.FAILURE : HealthLevel.WARNING,
        message,
        clock.instant());
    registry.publish(endpoint);
    if (endpoint.isRetryPending()) {
      return;
    }
    final Duration pause = endpoint.controller().pause();
    LOGGER.warn("endpoint {}: {}; next try in {} ms", endpoint.id(), message, pause.toMillis());
    endpoint.retryPending(true);
    thread.schedule(
        pause,
        () -> {
          endpoint.retryPending(false);
          if (registry.holds(endpoint) && endpoint.is(EndpointState.NOT_READY)) {
            retry.accept(endpoint);
          }
        });
  }

  /** It cannot be made to work. */
  void invalid(Endpoint endpoint, String message) {
    endpoint.error(message);
    endpoint.transition(EndpointState.INVALID, HealthLevel.FAILURE, message, clock.instant());
    LOGGER.error("endpoint {}: {}", endpoint.id(), message);
    registry.publish(endpoint);
  }
}
