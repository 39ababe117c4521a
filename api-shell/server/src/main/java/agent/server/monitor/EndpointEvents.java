package agent.server.monitor;

import agent.endpoint.state.EndpointLog.LogEntry;
import agent.endpoint.state.EndpointSnapshot;
import agent.endpoint.state.EndpointState;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Publishes each new entry of the log of an endpoint, which is a change of its state or of what is
 * wrong with it. Called by the thread of the endpoints.
 */
public final class EndpointEvents implements Consumer<EndpointSnapshot> {
  private final AgentEvents events;
  private final Map<Integer, LogEntry> last = new HashMap<>();

  public EndpointEvents(AgentEvents events) {
    this.events = events;
  }

  @Override
  public void accept(EndpointSnapshot endpoint) {
    final List<LogEntry> newestFirst = endpoint.log();
    if (newestFirst.isEmpty()) {
      return;
    }
    final LogEntry known =
        endpoint.state() == EndpointState.DISCONNECTED
            ? last.remove(endpoint.id())
            : last.put(endpoint.id(), newestFirst.getFirst());
    if (!events.isHeard()) {
      return;
    }
    int older = 0;
    while (older < newestFirst.size() && newestFirst.get(older) != known) {
      older++;
    }
    for (final LogEntry entry : newestFirst.subList(0, older).reversed()) {
      events.publish(
          Map.of(
              "kind", "endpoint",
              "endpoint", endpoint.id(),
              "state", entry.state().text(),
              "code", entry.code(),
              "message", entry.message()));
    }
  }
}
