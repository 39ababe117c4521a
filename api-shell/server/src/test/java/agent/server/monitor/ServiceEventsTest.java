package agent.server.monitor;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.client.MonitorClient;
import agent.service.Backend;
import agent.service.Frontend;
import agent.service.Service;
import agent.service.ServiceProtocol;
import agent.types.IpAddress;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Collections;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a subscriber gets of a change of a service. */
@Timeout(60)
class ServiceEventsTest {
  @TempDir private Path directory;
  private AgentEventsFixture fixture;
  private ServiceEvents events;

  @BeforeEach
  void start() throws IOException {
    fixture = new AgentEventsFixture(directory);
    events = new ServiceEvents(fixture.agent);
  }

  @AfterEach
  void stop() throws IOException {
    fixture.close();
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
    assertEquals(json, AgentEventsFixture.next(client));
  }

  @Test
  void shouldPublishWhatHasChanged() throws IOException {
    events.onChange(7, null, service(null, 0)); // before there is a subscriber
    try (MonitorClient client = fixture.subscribe()) {
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
      AgentEventsFixture.assertNoMore(client);
    }
  }
}
