package agent.launcher.view;

import agent.conductor.HealthBoard;
import agent.server.metrics.MetricFamily;
import agent.server.metrics.MetricRegistry;
import agent.server.socket.ConnectionCounts;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/** Metrics and health of the connections of API clients. */
public final class ApiConnectionView implements MetricRegistry.Source, HealthBoard.Probe {
  /** Health module of the connections. */
  public static final String MODULE = "api-connections";

  private final Supplier<ConnectionCounts> counts;
  private final Supplier<Optional<String>> fault;

  /**
   * Creates the view.
   *
   * @param counts reads the connections as they are now
   * @param fault reads why no client finds the socket
   */
  public ApiConnectionView(Supplier<ConnectionCounts> counts, Supplier<Optional<String>> fault) {
    this.counts = counts;
    this.fault = fault;
  }

  @Override
  public List<MetricFamily> collect() {
    final ConnectionCounts now = counts.get();
    return List.of(
        MetricFamily.gauge("agent_api_connections", "Connections of API clients", now.open()),
        MetricFamily.gauge(
            "agent_api_connections_in_use",
            "Connections of API clients with a request in progress",
            now.inUse()),
        MetricFamily.gauge(
            "agent_api_connections_limit", "Maximum connections of API clients", now.limit()),
        MetricFamily.counter(
            "agent_api_connections_closed_idle_total",
            "Idle connections that were closed to make room for a new client",
            now.closedIdle()));
  }

  @Override
  public HealthBoard.Reading read() {
    final Optional<String> lost = fault.get();
    if (lost.isPresent()) {
      return HealthBoard.Reading.stopped("new clients cannot connect to the socket: " + lost.get());
    }
    final ConnectionCounts now = counts.get();
    return now.isFull()
        ? HealthBoard.Reading.degraded(
            "all " + now.limit() + " connections are in use: new clients wait")
        : HealthBoard.Reading.ok(now.open() + " of " + now.limit() + " connections are open");
  }
}
