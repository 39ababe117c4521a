package agent.server.monitor;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.client.MonitorClient;
import agent.endpoint.state.EndpointLog.LogEntry;
import agent.endpoint.state.EndpointSnapshot;
import agent.endpoint.state.EndpointState;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Which entries of the log of an endpoint a subscriber gets, and in which order. */
@Timeout(60)
class EndpointEventsTest {
  private static final LogEntry FIRST = entry("first");
  private static final LogEntry SECOND = entry("second");
  private static final LogEntry THIRD = entry("third");

  @TempDir private Path directory;
  private AgentEventsFixture fixture;
  private EndpointEvents events;

  @BeforeEach
  void start() throws IOException {
    fixture = new AgentEventsFixture(directory);
    events = new EndpointEvents(fixture.agent);
  }

  @AfterEach
  void stop() throws IOException {
    fixture.close();
  }

  private static LogEntry entry(String message) {
    return new LogEntry("OK", message, EndpointState.READY, Instant.EPOCH);
  }

  private void log(EndpointState state, LogEntry... newestFirst) {
    events.accept(
        new EndpointSnapshot(
            7,
            state,
            null,
            null,
            null,
            null,
            null,
            null,
            null,
            null,
            null,
            null,
            null,
            null,
            List.of(newestFirst),
            null,
            null,
            null));
  }

  private static void assertNext(String message, MonitorClient client) throws IOException {
    final JsonNode json = new JsonMapper().readTree(AgentEventsFixture.next(client));
    assertEquals("endpoint", json.get("kind").asString());
    assertEquals(7, json.get("endpoint").asInt());
    assertEquals("ready", json.get("state").asString());
    assertEquals("OK", json.get("code").asString());
    assertEquals(message, json.get("message").asString());
  }

  @Test
  void shouldPublishEachNewEntryOnceTheOldestFirst() throws IOException {
    try (MonitorClient client = fixture.subscribe()) {
      log(EndpointState.READY);
      log(EndpointState.READY, FIRST);
      assertNext("first", client);
      log(EndpointState.READY, THIRD, SECOND, FIRST);
      assertNext("second", client);
      assertNext("third", client);
      log(EndpointState.READY, THIRD, SECOND, FIRST);
      AgentEventsFixture.assertNoMore(client);
    }
  }

  @Test
  void shouldNotPublishWhatHappenedBeforeItWasHeard() throws IOException {
    log(EndpointState.READY, SECOND, FIRST);
    try (MonitorClient client = fixture.subscribe()) {
      log(EndpointState.READY, THIRD, SECOND, FIRST);
      assertNext("third", client);
      AgentEventsFixture.assertNoMore(client);
    }
  }

  /** The next endpoint of this id has a log of its own. */
  @Test
  void shouldForgetAnEndpointThatIsGone() throws IOException {
    try (MonitorClient client = fixture.subscribe()) {
      log(EndpointState.READY, FIRST);
      assertNext("first", client);
      log(EndpointState.DISCONNECTED, SECOND, FIRST);
      assertNext("second", client);
      log(EndpointState.READY, SECOND);
      assertNext("second", client);
      AgentEventsFixture.assertNoMore(client);
    }
  }
}
