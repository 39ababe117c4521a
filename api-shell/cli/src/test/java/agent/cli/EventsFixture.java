package agent.cli;

import agent.testkit.CannedMonitor;
import java.io.IOException;
import java.nio.file.Path;
import java.util.TimeZone;

/**
 * An agent with live events, one endpoint and the identities of both ends of them; times are those
 * of UTC.
 */
final class EventsFixture implements AutoCloseable {
  final CliFixture agent = new CliFixture();
  private final TimeZone zone = TimeZone.getDefault();
  private CannedMonitor events;

  EventsFixture() throws IOException {
    TimeZone.setDefault(TimeZone.getTimeZone("UTC"));
    agent.on(
        "GET /endpoint",
        """
        [{"id":7,"status":{"external-identifiers":{"pod-name":"shop/web"},
          "networking":{"addressing":[{"ipv4":"10.1.0.7","ipv6":"fd00::7"}]}}}]
        """);
    agent.on(
        "GET /identity",
        """
        [{"id":256,"labels":["orch:app=client","orch:team=a"]},{"id":257,"labels":["orch:app=web"]}]
        """);
  }

  /** Starts a server of events that has no frames yet, in place of an earlier one. */
  CannedMonitor startEvents() throws IOException {
    if (events != null) {
      events.close();
    }
    final String socket = agent.address().substring("unix://".length());
    events = CannedMonitor.start(Path.of(socket.replace(".sock", "-monitor.sock")));
    return events;
  }

  @Override
  public void close() throws IOException {
    TimeZone.setDefault(zone);
    events.close();
    agent.close();
  }
}
