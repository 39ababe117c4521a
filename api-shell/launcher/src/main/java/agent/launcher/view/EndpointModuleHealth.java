package agent.launcher.view;

import agent.datapath.manager.thread.HealthBoard;
import agent.endpoint.Endpoints;
import agent.endpoint.state.EndpointSnapshot;
import agent.endpoint.state.EndpointState;
import java.util.List;

/**
 * The endpoints as one module of the health report: degraded while the state of any of them is
 * not-ready.
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
    final List<Integer> notReady =
        all.stream()
            .filter(endpoint -> endpoint.state() == EndpointState.NOT_READY)
            .map(EndpointSnapshot::id)
            .toList();
    return notReady.isEmpty()
        ? HealthBoard.Reading.ok(all.size() + " endpoints")
        : HealthBoard.Reading.degraded("not ready: " + notReady);
  }
}
