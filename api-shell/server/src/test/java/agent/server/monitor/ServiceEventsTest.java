package agent.server.monitor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;

import agent.client.MonitorClient;
import agent.client.MonitorEvent.Activity;
import agent.contract.monitor.MonitorStream;
import agent.service.Backend;
import agent.service.Frontend;
import agent.service.Service;
import agent.service.ServiceProtocol;
import agent.types.IpAddress;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a subscriber gets of a change of a service. */
@Timeout(60)
class ServiceEventsTest {
  private static final Duration LIMIT = Duration.ofSeconds(10);
  private static final Duration QUIET = Duration.ofMillis(100);

  @TempDir private Path directory;
  private final AgentEvents agent = new AgentEvents();
  private final ServiceEvents events = new ServiceEvents(agent);
  private Path socket;
  private MonitorServer server;

  @BeforeEach
  void start() throws IOException {
    socket = directory.resolve("agent-monitor.sock");
    server = MonitorServer.start(socket, null, 100, 128, "1.2.3", new NoFlowEvents(), agent);
  }

  @AfterEach
  void stop() throws IOException {
    server.close();
  }

  private static Service service(String name, int backends) {
    final Backend backend =
        new Backend(IpAddress.parse("10.1.0.7"), 8080, Backend.State.ACTIVE, 1, null);
    return new Service(
        7,
        new Frontend(IpAddress.parse("fd96::1"), 80, ServiceProtocol.TCP),
        Collections.nCopies(backends, backend),
        false,
        0,
        name,
        name == null ? null : "shop");
  }

  private static void assertNext(String json, MonitorClient client) throws IOException {
    assertEquals(json, assertInstanceOf(Activity.class, client.next(LIMIT)).json());
  }

  @Test
  void shouldPublishWhatHasChanged() throws IOException {
    events.onChange(7, null, service(null, 0)); // before there is a subscriber
    try (MonitorClient client = MonitorClient.open(socket, MonitorStream.AGENT_EVENTS, LIMIT)) {
      events.onChange(7, null, service("web", 1));
      events.onChange(7, service("web", 1), service(null, 2));
      events.onChange(7, service("web", 3), null);
      events.onChange(9, null, null);
      final String frontend = ",\"frontend\":\"[fd96::1]:80/TCP\",\"backends\":";
      final String names = ",\"name\":\"web\",\"namespace\":\"shop\"}";
      assertNext(
          "{\"kind\":\"service\",\"service\":7,\"change\":\"created\"" + frontend + 1 + names,
          client);
      assertNext(
          "{\"kind\":\"service\",\"service\":7,\"change\":\"updated\"" + frontend + "2}", client);
      assertNext(
          "{\"kind\":\"service\",\"service\":7,\"change\":\"deleted\"" + frontend + 3 + names,
          client);
      assertNext("{\"kind\":\"service\",\"service\":9,\"change\":\"deleted\"}", client);
      assertNull(client.next(QUIET));
    }
  }
}
