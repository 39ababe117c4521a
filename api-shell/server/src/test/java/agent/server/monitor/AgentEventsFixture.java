package agent.server.monitor;

import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;

import agent.client.MonitorClient;
import agent.client.MonitorEvent.Activity;
import agent.contract.monitor.MonitorStream;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;

/** Events of the agent, the server that tells them, and its subscribers. */
public final class AgentEventsFixture implements AutoCloseable {
  private static final Duration LIMIT = Duration.ofSeconds(10);
  private static final Duration QUIET = Duration.ofMillis(100);

  public final AgentEvents agent;

  private final Path socket;
  private final MonitorServer server;

  /** Of events that keep three requests. */
  public AgentEventsFixture(Path directory) throws IOException {
    this(directory, new AgentEvents(3, false));
  }

  AgentEventsFixture(Path directory, AgentEvents agent) throws IOException {
    this.agent = agent;
    socket = directory.resolve("agent-monitor.sock");
    server = MonitorServer.start(socket, null, 1000, 128, "1.2.3", new NoFlowEvents(), agent);
  }

  public MonitorClient subscribe() throws IOException {
    return subscribe(MonitorStream.AGENT_EVENTS);
  }

  MonitorClient subscribe(int mask) throws IOException {
    return MonitorClient.open(socket, mask, LIMIT);
  }

  /** Returns the JSON of the next event. */
  public static String next(MonitorClient client) throws IOException {
    return assertInstanceOf(Activity.class, client.next(LIMIT)).json();
  }

  public static void assertNoMore(MonitorClient client) throws IOException {
    assertNull(client.next(QUIET));
  }

  @Override
  public void close() throws IOException {
    server.close();
  }
}
