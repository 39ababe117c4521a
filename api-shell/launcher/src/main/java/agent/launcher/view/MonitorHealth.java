package agent.launcher.view;

import agent.conductor.HealthBoard;
import java.util.Optional;
import java.util.function.IntSupplier;
import java.util.function.Supplier;

/**
 * The health of the socket of live events.
 *
 * @param subscribers counts the subscribers
 * @param fault reads why no new subscriber finds the socket
 */
public record MonitorHealth(IntSupplier subscribers, Supplier<Optional<String>> fault)
    implements HealthBoard.Probe {
  /** Its health module. */
  public static final String MODULE = "monitor";

  @Override
  public HealthBoard.Reading read() {
    return fault
        .get()
        .map(
            lost ->
                HealthBoard.Reading.stopped(
                    "new subscribers cannot connect to the socket: " + lost))
        .orElseGet(() -> HealthBoard.Reading.ok(subscribers.getAsInt() + " subscribers of events"));
  }
}
