package agent.domain;

import agent.conductor.HealthBoard;
import agent.endpoint.Endpoints;
import agent.endpoint.state.EndpointHealth.HealthLevel;
import agent.endpoint.state.EndpointSnapshot;
import agent.endpoint.state.EndpointState;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * The endpoints as one module of the health report: stopped while the health of any of them is
 * Failure, degraded while that of any is Warning or its state is not-ready. The message names each
 * of them with the reason, those whose health is Failure first.
 */
public final class EndpointModuleHealth implements HealthBoard.Probe {
  /** Name of the module. */
  public static final String MODULE = "endpoints";

  private static final String SEPARATOR = "; ";

  private final Endpoints endpoints;

  /**
   * Creates the probe.
   *
   * @param endpoints the endpoints of the node
   */
  public EndpointModuleHealth(Endpoints endpoints) {
    this.endpoints = endpoints;
  }

  @Override
  public HealthBoard.Reading read() {
    final List<EndpointSnapshot> all = endpoints.list(List.of());
    final List<EndpointSnapshot> bad = all.stream().filter(EndpointModuleHealth::isBad).toList();
    if (bad.isEmpty()) {
      return HealthBoard.Reading.ok(all.size() + " endpoints");
    }
    final Map<Boolean, String> messages =
        bad.stream()
            .collect(
                Collectors.partitioningBy(
                    EndpointModuleHealth::hasFailed,
                    Collectors.mapping(
                        EndpointModuleHealth::message, Collectors.joining(SEPARATOR))));
    final String failed = messages.get(true);
    final String others = messages.get(false);
    if (failed.isEmpty()) {
      return HealthBoard.Reading.degraded(others);
    }
    return HealthBoard.Reading.stopped(others.isEmpty() ? failed : failed + SEPARATOR + others);
  }

  private static boolean isBad(EndpointSnapshot endpoint) {
    return hasFailed(endpoint)
        || endpoint.health().overall() == HealthLevel.WARNING
        || endpoint.state() == EndpointState.NOT_READY;
  }

  private static boolean hasFailed(EndpointSnapshot endpoint) {
    return endpoint.health().overall() == HealthLevel.FAILURE;
  }

  private static String message(EndpointSnapshot endpoint) {
    final String reason = endpoint.health().reason();
    return "endpoint %d: %s"
        .formatted(endpoint.id(), reason == null ? endpoint.state().text() : reason);
  }
}
