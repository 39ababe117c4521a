package agent.domain.node;

import agent.conductor.HealthBoard;
import agent.node.HostRouting;
import java.util.function.Supplier;

/** Degraded while flows bypass something that is configured for them, which an option wants so. */
public final class HostRoutingHealth implements HealthBoard.Probe {
  /** Name of the module. */
  public static final String MODULE = "host-routing";

  private final Supplier<HostRouting> routing;

  /**
   * Creates the probe.
   *
   * @param routing reads how flows are routed now
   */
  public HostRoutingHealth(Supplier<HostRouting> routing) {
    this.routing = routing;
  }

  @Override
  public HealthBoard.Reading read() {
    final HostRouting now = routing.get();
    final String message = now.mode().text() + ": " + now.reason();
    return now.isDoubtful()
        ? HealthBoard.Reading.degraded(message)
        : HealthBoard.Reading.ok(message);
  }
}
