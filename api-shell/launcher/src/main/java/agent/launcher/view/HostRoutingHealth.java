package agent.launcher.view;

import agent.datapath.manager.thread.HealthBoard;
import agent.node.HostRouting;
import agent.node.HostRoutingWatch;

/** Degraded while flows bypass something that is configured for them, which an option wants so. */
public final class HostRoutingHealth implements HealthBoard.Probe {
  /** Name of the module. */
  public static final String MODULE = "host-routing";

  private final HostRoutingWatch routing;

  public HostRoutingHealth(HostRoutingWatch routing) {
    this.routing = routing;
  }

  @Override
  public HealthBoard.Reading read() {
    final HostRouting now = routing.current();
    final String message = now.mode().text() + ": " + now.reason();
    return now.isDoubtful()
        ? HealthBoard.Reading.degraded(message)
        : HealthBoard.Reading.ok(message);
  }
}
