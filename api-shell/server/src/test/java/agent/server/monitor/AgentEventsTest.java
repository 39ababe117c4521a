package agent.server.monitor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.client.MonitorClient;
import agent.client.MonitorEvent.KeptEnd;
import agent.contract.monitor.MonitorStream;
import agent.testkit.OtherThread;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Which requests are kept, and when events are worth their making. */
@Timeout(60)
class AgentEventsTest {
  @TempDir private Path directory;

  @Test
  void shouldHearRequestsAtAllTimesOnlyWhereSomeAreKept() {
    assertTrue(new AgentEvents(1, true).hearsRequests());
    assertFalse(new AgentEvents(0, true).hearsRequests());
    assertFalse(new AgentEvents(1, false).hearsRequests());
    assertFalse(new AgentEvents(1, true).isHeard());
  }

  /** One of {@code bytes} bytes of JSON. */
  private static Map<String, String> request(int bytes) {
    return Map.of("path", "/".repeat(bytes - "{\"path\":\"\"}".length()));
  }

  @Test
  void shouldKeepNoRequestOfMoreThanEightKibibytes() {
    final AgentEvents agent = new AgentEvents(2, true);
    agent.publishRequest(request(8 * 1024));
    agent.publishRequest(request(8 * 1024 + 1));
    assertEquals(8 * 1024, agent.kept().getFirst().json().length);
    assertEquals(1, agent.kept().size());
  }

  @Test
  void shouldTellRequestsOfWhichNoneAreKept() throws IOException {
    try (AgentEventsFixture fixture = new AgentEventsFixture(directory, new AgentEvents());
        MonitorClient client = fixture.subscribe(MonitorStream.REQUESTS)) {
      fixture.agent.publishRequest(Map.of("path", "/"));
      assertEquals("{\"path\":\"/\"}", AgentEventsFixture.next(client));
      assertEquals(0, fixture.agent.kept().size());
    }
  }

  /** What cannot be written as JSON is left out; what comes after it is reported. */
  @Test
  void shouldLeaveOutWhatIsNoJson() throws IOException {
    try (AgentEventsFixture fixture = new AgentEventsFixture(directory);
        MonitorClient client = fixture.subscribe()) {
      final List<Object> cyclic = new ArrayList<>();
      cyclic.add(cyclic);
      fixture.agent.publish(Map.of("kind", cyclic));
      fixture.agent.publish(Map.of("kind", "next"));
      assertEquals("{\"kind\":\"next\"}", AgentEventsFixture.next(client));
    }
  }

  /** It is among the kept ones, or comes after them. */
  @Test
  void shouldTellARequestOnceThatComesWithASubscriber() throws Exception {
    final AgentEvents agent = new AgentEvents(3, true);
    final CompletableFuture<OtherThread<Void>> request = new CompletableFuture<>();
    final CompletableFuture<Boolean> waits = new CompletableFuture<>();
    agent.whenHearing(
        () -> {
          if (!request.isDone()) {
            final Runnable publish = () -> agent.publishRequest(Map.of("path", "/"));
            request.complete(OtherThread.run(publish));
            waits.complete(request.join().waits());
          }
        });
    try (AgentEventsFixture fixture = new AgentEventsFixture(directory, agent);
        MonitorClient client =
            fixture.subscribe(MonitorStream.REQUESTS | MonitorStream.KEPT_FIRST)) {
      assertTrue(waits.get(20, TimeUnit.SECONDS), "it waits until the subscriber is there");
      request.join().result();
      assertInstanceOf(KeptEnd.class, client.next(Duration.ofSeconds(10)), "none is kept yet");
      assertEquals("{\"path\":\"/\"}", AgentEventsFixture.next(client));
      AgentEventsFixture.assertNoMore(client);
    }
  }

  @Test
  void shouldTellNothingInTheMiddleOfTheEndOfASubscriber() throws Exception {
    final AgentEvents agent = new AgentEvents(3, true);
    final CompletableFuture<Boolean> waits = new CompletableFuture<>();
    try (AgentEventsFixture fixture = new AgentEventsFixture(directory, agent)) {
      try (MonitorClient client = fixture.subscribe(MonitorStream.REQUESTS)) {
        agent.publishRequest(Map.of("path", "/"));
        AgentEventsFixture.next(client);
        agent.whenHearing(
            () -> {
              final Runnable publish = () -> agent.publishRequest(Map.of("path", "/b"));
              waits.complete(!agent.isHeard() && OtherThread.run(publish).waits());
            });
      }
      assertTrue(waits.get(20, TimeUnit.SECONDS), "it waits until the subscriber is gone");
    }
  }
}
