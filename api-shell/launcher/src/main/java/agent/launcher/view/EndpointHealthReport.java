package agent.launcher.view;

import agent.datapath.manager.spec.ModuleHealth;
import agent.endpoint.EndpointSnapshot;
import agent.endpoint.EndpointState;
import java.time.InstantSource;
import java.util.List;

/** The endpoints as one module: degraded while any of them is not on its newest programs. */
final class EndpointHealthReport {
  private static final String MODULE = "endpoints";

  private EndpointHealthReport() {}

  static ModuleHealth of(List<EndpointSnapshot> endpoints, InstantSource clock) {
    final long nowMs = clock.millis();
    final List<Integer> notReady =
        endpoints.stream()
            .filter(endpoint -> endpoint.state() == EndpointState.NOT_READY)
            .map(EndpointSnapshot::id)
            .toList();
    return notReady.isEmpty()
        ? new ModuleHealth(
            MODULE, ModuleHealth.Level.OK, endpoints.size() + " endpoints", nowMs, nowMs)
        : new ModuleHealth(MODULE, ModuleHealth.Level.DEGRADED, "not ready: " + notReady, 0, nowMs);
  }
}
