package agent.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.client.MonitorClient;
import agent.contract.WireFormat;
import agent.server.monitor.AgentEventsFixture;
import agent.testkit.RecordedLog;
import agent.types.OperationException;
import agent.types.Refusal;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.json.JsonMapper;

/**
 * The log says who called what, and with which result, for every call that can change something.
 */
@Timeout(60)
class ChangeLogTest {
  private RecordedLog log;

  @BeforeEach
  void record() {
    log = RecordedLog.of(ApiDispatcher.class);
  }

  @AfterEach
  void stop() {
    log.close();
  }

  @Test
  void shouldNameCallResultAndPeerOfEveryChangingRoute() throws IOException {
    try (TestServer server = TestServer.start(Map.of())) {
      int changing = 0;
      for (final Route route : Route.values()) {
        final String path = route.path().replaceAll("\\{[a-z]+}", "7");
        server.exchange(TestServer.request(route.verb().name(), path, ""));
        if (route.verb() == Verb.GET) {
          assertEquals(List.of(), log.take(), "a read is not logged");
        } else {
          assertEquals(
              List.of("INFO api: " + route.verb() + " " + path + " 200 by " + self()), log.take());
          changing++;
        }
      }
      assertTrue(changing >= 12, "changing routes: " + changing);
    }
  }

  @Test
  void shouldLogChangesThatFailWithTheReason() throws IOException {
    final Map<Route, ApiHandler> handlers =
        Map.of(
            Route.RELEASE_ADDRESS,
            request -> {
              throw Refusal.conflict("ip", "is busy\nand more");
            },
            Route.DELETE_POLICY,
            request -> {
              throw new OperationException("map policy_00012: update: EPERM");
            },
            Route.PUT_POLICY,
            request -> Answer.ok(request.bodyList(String.class)));
    try (TestServer server = TestServer.start(handlers)) {
      server.exchange(TestServer.request("DELETE", "/ipam/10.1.0.7", ""));
      assertLogged("DELETE /ipam/10.1.0.7 409 by " + self() + ": ip: is busy?and more");
      server.exchange(TestServer.request("DELETE", "/policy", ""));
      assertLogged("DELETE /policy 500 by " + self() + ": map policy_00012: update: EPERM");
      server.exchange(TestServer.request("PUT", "/policy", "{}"));
      assertLogged("PUT /policy 400 by " + self() + ": body: an array is expected at line 1, col");
      server.exchange(
          "PUT /policy HTTP/1.1\r\nHost: x\r\nContent-Type: text/yaml\r\nContent-Length: 2\r\n\r\n[]");
      assertLogged("PUT /policy 415 by " + self() + ": Content-Type: 'text/yaml' is not");
    }
  }

  @Test
  void shouldLogAChangeWhoseBodyIsTooLarge() throws IOException {
    try (TestServer server = TestServer.start(new ApiContext().maxBodyBytes(1000), Map.of())) {
      server.exchange(TestServer.request("PUT", "/policy", " ".repeat(1001)));
      assertLogged("PUT /policy 413 by " + self() + ": body: larger than 1000 bytes");
    }
  }

  @Test
  void shouldLogAChangeOverTheRateLimit() throws IOException {
    final RateLimits limits = RateLimits.parse(Map.of("policy", "1/m"), () -> 0L);
    try (TestServer server = TestServer.start(new ApiContext().rateLimits(limits), Map.of())) {
      server.exchange(TestServer.request("PUT", "/policy", ""));
      assertLogged("PUT /policy 200 by " + self());
      server.exchange(TestServer.request("PUT", "/policy", ""));
      assertLogged("PUT /policy 429 by " + self() + ": rate limit of 'policy' operations exceeded");
    }
  }

  @Test
  void shouldPublishEachChangeToThoseWhoListen(@TempDir Path directory) throws IOException {
    try (AgentEventsFixture monitor = new AgentEventsFixture(directory);
        TestServer server = TestServer.start(new ApiContext().events(monitor.agent), Map.of());
        MonitorClient client = monitor.subscribe()) {
      server.exchange(TestServer.get("/policy"));
      server.exchange(TestServer.request("PUT", "/policy", ""));
      server.exchange(TestServer.request("PUT", "/policy?x=1", ""));
      final JsonMapper mapper = WireFormat.strictMapper();
      assertEquals(
          Map.of(
              "kind", "api",
              "method", "PUT",
              "path", "/policy",
              "status", 200,
              "client", self(),
              "message", ""),
          mapper.readValue(AgentEventsFixture.next(client), Map.class));
      assertEquals(
          Map.of(
              "kind", "api",
              "method", "PUT",
              "path", "/policy",
              "status", 400,
              "client", self(),
              "message", "x: unknown query parameter"),
          mapper.readValue(AgentEventsFixture.next(client), Map.class));
      AgentEventsFixture.assertNoMore(client);
    }
  }

  private void assertLogged(String start) {
    final List<String> lines = log.take();
    assertEquals(1, lines.size(), lines.toString());
    assertTrue(lines.getFirst().startsWith("INFO api: " + start), lines.getFirst());
  }

  /** This process, from what the kernel says of it. */
  private static String self() throws IOException {
    return "pid=" + ProcessHandle.current().pid() + " uid=" + own("Uid:") + " gid=" + own("Gid:");
  }

  /** The effective id is the second of four. */
  private static String own(String kind) throws IOException {
    return Files.readAllLines(Path.of("/proc/self/status")).stream()
        .filter(line -> line.startsWith(kind))
        .map(line -> line.split("\t")[2])
        .findFirst()
        .orElseThrow();
  }
}
