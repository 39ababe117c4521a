package agent.launcher.view;

import agent.datapath.manager.thread.HealthBoard;
import agent.endpoint.Endpoints;
import agent.endpoint.state.EndpointHealth.HealthLevel;
import agent.endpoint.state.EndpointSnapshot;
import agent.endpoint.state.EndpointState;
import java.util.List;

/**
 * The endpoints as one module of the health report: stopped while the health of any of them is
 * Failure, degraded while that of any is Warning or its state is not-ready. The message names the
 * first of them with the reason.
 */
public final class EndpointModuleHealth implements HealthBoard.Probe {
  /** Name of the module. */
  public static final String MODULE = "endpoints";

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
    return bad.stream()
        .filter(EndpointModuleHealth::hasFailed)
        .findFirst()
        .map(failed -> HealthBoard.Reading.stopped(message(failed, bad.size())))
        .orElseGet(() -> HealthBoard.Reading.degraded(message(bad.getFirst(), bad.size())));
  }

  private static boolean isBad(EndpointSnapshot endpoint) {
    return hasFailed(endpoint)
        || endpoint.health().overall() == HealthLevel.WARNING
        || endpoint.state() == EndpointState.NOT_READY;
  }

  private static boolean hasFailed(EndpointSnapshot endpoint) {
    return endpoint.health().overall() == HealthLevel.FAILURE;
  }

  private static String message(EndpointSnapshot endpoint, int count) {
    final String reason = endpoint.health().reason();
    return "endpoint %d: %s%s"
        .formatted(
            endpoint.id(),
            reason == null ? endpoint.state().text() : reason,
            count == 1 ? "" : " (and %d more)".formatted(count - 1));
  }
}
