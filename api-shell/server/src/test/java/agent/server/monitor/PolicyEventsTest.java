package agent.server.monitor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.client.MonitorClient;
import agent.policy.repository.CommittedRules;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** What a subscriber gets of changes of the rules. */
@Timeout(60)
class PolicyEventsTest {
  @TempDir private Path directory;
  private AgentEventsFixture fixture;
  private PolicyEvents events;

  @BeforeEach
  void start() throws IOException {
    fixture = new AgentEventsFixture(directory);
    events = new PolicyEvents(fixture.agent);
  }

  @AfterEach
  void stop() throws IOException {
    fixture.close();
  }

  @Test
  void shouldPublishHowACommitChangedTheRules() throws IOException {
    events.accept(
        () -> {
          throw new IllegalStateException("no reader");
        });
    try (MonitorClient client = fixture.subscribe()) {
      final Set<String> labels = new TreeSet<>(Set.of("user:name=b", "user:name=a"));
      events.accept(() -> new CommittedRules(12, 5, 2, 1, labels));
      events.accept(() -> new CommittedRules(13, 0, 0, 5, Set.of()));
      assertEquals(
          "{\"kind\":\"policy\",\"revision\":12,\"rules\":5,\"added\":2,\"removed\":1,"
              + "\"labels\":[\"user:name=a\",\"user:name=b\"]}",
          AgentEventsFixture.next(client));
      assertEquals(
          "{\"kind\":\"policy\",\"revision\":13,\"rules\":0,\"added\":0,\"removed\":5,"
              + "\"labels\":[]}",
          AgentEventsFixture.next(client));
      AgentEventsFixture.assertNoMore(client);
    }
  }

  /** An event has at most 8 KiB. */
  @Test
  void shouldLeaveLabelsOutThatDoNotFit() throws IOException {
    final Set<String> labels = new TreeSet<>();
    for (int i = 0; i < 10_000; i++) {
      labels.add("user:name=rule-%05d".formatted(i)); // of 20 characters
    }
    try (MonitorClient client = fixture.subscribe()) {
      events.accept(() -> new CommittedRules(2, 10_000, 10_000, 0, labels));
      final String json = AgentEventsFixture.next(client);
      assertTrue(json.endsWith("\"user:name=rule-00177\"],\"labels-left-out\":9822}"), json);
      labels.clear();
      for (int i = 0; i < 1000; i++) {
        labels.add("user:name=" + "\"\u00e4\u4e2d\t".repeat(10) + i);
      }
      events.accept(() -> new CommittedRules(3, 1000, 1000, 0, labels));
      final String escaped = AgentEventsFixture.next(client);
      assertTrue(escaped.endsWith(",\"labels-left-out\":984}"), escaped);
    }
  }

  /** A label of one byte of JSON a character, and one more of six of them. */
  @Test
  void shouldFillTheRoomForLabelsToTheLastByte() throws IOException {
    try (MonitorClient client = fixture.subscribe()) {
      for (final char plain : new char[] {' ', '~', 0x7f}) {
        final String longest = ("" + plain).repeat(4096 - 3);
        assertFits(longest, client);
        assertDoesNotFit(longest + plain, client);
      }
      for (final char escaped : new char[] {0x1f, '"', '\\', 0x80}) {
        final String longest = ("" + escaped).repeat(682);
        assertFits(longest + "a", client);
        assertDoesNotFit(longest + "aa", client);
      }
    }
  }

  private void assertFits(String label, MonitorClient client) throws IOException {
    events.accept(() -> new CommittedRules(4, 1, 1, 0, Set.of(label)));
    final JsonNode json = new JsonMapper().readTree(AgentEventsFixture.next(client));
    assertEquals(label, json.get("labels").get(0).asString());
    assertFalse(json.has("labels-left-out"));
  }

  private void assertDoesNotFit(String label, MonitorClient client) throws IOException {
    events.accept(() -> new CommittedRules(5, 1, 1, 0, Set.of(label)));
    assertTrue(AgentEventsFixture.next(client).endsWith("\"labels\":[],\"labels-left-out\":1}"));
  }
}
