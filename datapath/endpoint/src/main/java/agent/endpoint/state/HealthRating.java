package agent.endpoint.state;

import agent.datapath.spec.EndpointFaults.Fault;
import agent.endpoint.state.EndpointHealth.HealthLevel;

/**
 * Rates the health of an endpoint by what of it is realized and what fails now, without the faults
 * of its kernel objects.
 */
final class HealthRating {
  private HealthRating() {}

  static EndpointHealth of(Endpoint endpoint) {
    final boolean isAttached = endpoint.attached() != null;
    EndpointHealth health =
        EndpointHealth.of(
            level(endpoint, isAttached),
            level(endpoint, endpoint.realizedPolicy() != null),
            isAttached && endpoint.reachability().isReached(),
            endpoint.error());
    if (endpoint.isLive()) {
      health = with(health, endpoint.interfaceFault());
      health = with(health, endpoint.routeFault());
      if (isAttached) {
        health = with(health, endpoint.reachability().fault());
      }
    }
    return health;
  }

  private static EndpointHealth with(EndpointHealth health, Fault fault) {
    return fault == null ? health : health.with(fault).disconnected();
  }

  private static HealthLevel level(Endpoint endpoint, boolean isRealized) {
    final boolean isFailing =
        endpoint.error() != null && endpoint.controller().consecutiveFailures() > 0;
    return switch (endpoint.state()) {
      case READY -> HealthLevel.OK;
      case NOT_READY -> isRealized ? HealthLevel.WARNING : HealthLevel.FAILURE;
      case INVALID -> HealthLevel.FAILURE;
      case DISCONNECTING -> isFailing ? HealthLevel.WARNING : HealthLevel.DISABLED;
      case DISCONNECTED -> HealthLevel.DISABLED;
      case WAITING_FOR_IDENTITY, WAITING_TO_REGENERATE, REGENERATING, RESTORING -> {
        if (isFailing) { // a retry does not end the failure before it succeeds
          yield isRealized ? HealthLevel.WARNING : HealthLevel.FAILURE;
        }
        yield isRealized ? HealthLevel.PENDING : HealthLevel.BOOTSTRAP;
      }
    };
  }
}
