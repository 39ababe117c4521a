package agent.server.monitor;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.client.MonitorClient;
import agent.dns.NameResolver.Resolved;
import agent.types.IpAddress;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a subscriber gets of the answers to lookups. */
@Timeout(60)
class NameEventsTest {
  @TempDir private Path directory;
  private AgentEventsFixture fixture;
  private NameEvents events;

  @BeforeEach
  void start() throws IOException {
    fixture = new AgentEventsFixture(directory);
    events = new NameEvents(fixture.agent);
  }

  @AfterEach
  void stop() throws IOException {
    fixture.close();
  }

  @Test
  void shouldPublishTheAddressesOfAnAnswerInTheirOrder() throws IOException {
    final Resolved answer =
        new Resolved(List.of(IpAddress.parse("192.0.2.8"), IpAddress.parse("192.0.2.7")), 300);
    events.onLookup("early.example.com.", answer); // before there is a subscriber
    try (MonitorClient client = fixture.subscribe()) {
      events.onLookup("www.example.com.", answer);
      events.onLookup("none.example.com.", new Resolved(List.of(), 0));
      assertEquals(
          "{\"kind\":\"dns\",\"fqdn\":\"www.example.com.\","
              + "\"ips\":[\"192.0.2.7\",\"192.0.2.8\"],\"ttl\":300}",
          AgentEventsFixture.next(client));
      assertEquals(
          "{\"kind\":\"dns\",\"fqdn\":\"none.example.com.\",\"ips\":[],\"ttl\":0}",
          AgentEventsFixture.next(client));
      AgentEventsFixture.assertNoMore(client);
    }
  }
}
