package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.launcher.process.CtlProcess.Outcome;
import agent.testkit.KernelTest;
import agent.testkit.TcpConnection;
import agent.testkit.TcpEchoServer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.function.Predicate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** agentctl observe, with a denied and an allowed flow between two workloads. */
@KernelTest
class AgentObserveKernelTest {
  private static final int ALLOWED = 8080;
  private static final int DENIED = 9090;
  private static final Duration LIMIT = Duration.ofSeconds(20);
  private static final JsonMapper MAPPER = new JsonMapper();

  @TempDir private Path directory;
  private TestNode node;
  private AgentProcess agent;
  private TestWorkload frontend;
  private TestWorkload backend;

  @BeforeEach
  void createNode() throws Exception {
    node = new TestNode();
  }

  @AfterEach
  void remove() throws Exception {
    node.close();
  }

  private void start(String... options) throws Exception {
    agent = node.agent(options);
    frontend = node.workload(agent, "frontend", "app=frontend");
    backend = node.workload(agent, "backend", "app=backend");
    node.keep(TcpEchoServer.start(backend.namespace(), ALLOWED));
    node.keep(TcpEchoServer.start(backend.namespace(), DENIED));
    agent.expect(
        200,
        "PUT",
        "/policy",
        """
        [{"endpointSelector": {"matchLabels": {"app": "backend"}},
          "ingress": [{"fromEndpoints": [{"matchLabels": {"app": "frontend"}}],
            "toPorts": [{"ports": [{"port": "8080", "protocol": "TCP"}]}]}]}]
        """);
  }

  private void deny() throws Exception {
    assertEquals(
        TcpConnection.Outcome.UNANSWERED,
        TcpConnection.attempt(frontend.namespace(), backend.ipv4(), DENIED, 300));
  }

  private void allow() throws Exception {
    try (TcpConnection connection =
        TcpConnection.open(frontend.namespace(), backend.ipv4(), ALLOWED)) {
      assertTrue(connection.exchangesMore(5, 5000));
    }
  }

  private Outcome ctl(String line) throws Exception {
    return CtlProcess.run(directory, (line + " --host unix://" + agent.socket()).split(" "));
  }

  private List<String> observe(String options) throws Exception {
    final Outcome outcome = ctl("observe " + options);
    assertEquals(0, outcome.exitCode(), outcome.err());
    assertEquals("", outcome.err());
    return outcome.out().lines().toList();
  }

  private JsonNode health() throws Exception {
    return agent.expect(200, "GET", "/healthz", null).json();
  }

  /** The answer is rendered anew within a second. */
  private JsonNode observer(Predicate<JsonNode> expected) throws Exception {
    final long endNs = System.nanoTime() + LIMIT.toNanos();
    while (true) {
      final JsonNode now = health().get("flowobs");
      if (expected.test(now)) {
        return now;
      }
      assertTrue(System.nanoTime() < endNs, now.toString());
      Thread.sleep(50);
    }
  }

  @Test
  void shouldShowWhatTheOptionNamesAndTheRestWhileAProgramListens() throws Exception {
    start("--flowobs-monitor-events=drop");
    deny();
    allow();
    final List<String> denied = observe("-o json --port " + DENIED);
    assertFalse(denied.isEmpty());
    for (final String line : denied) {
      final JsonNode drop = MAPPER.readTree(line);
      assertEquals("drop", drop.get("type").asString());
      assertEquals("policy-denied", drop.get("reason").asString());
      assertEquals(frontend.ipv4(), drop.at("/source/address").asString());
      assertEquals(frontend.id(), drop.at("/source/endpoint").asInt());
      assertTrue(drop.at("/source/labels").toString().contains("app=frontend"), line);
      assertTrue(drop.at("/destination/labels").toString().contains("app=backend"), line);
    }
    assertEquals(List.of(), observe("--port " + ALLOWED), "the ring alone asks for drops alone");
    assertEquals(
        denied.size(),
        observe("--verdict dropped --since 1h --from app=frontend --to app=backend").size());
    assertCounts(4096);

    follow();
    final List<String> kept = observe("--last 1000 --verdict forwarded --port " + ALLOWED);
    assertTrue(kept.stream().anyMatch(line -> line.contains(" verdict ")), "" + kept);
    assertTrue(kept.stream().anyMatch(line -> line.contains(" trace ")), "" + kept);
    final String picture = String.join("\n", observe("--summary mermaid --protocol tcp"));
    assertTrue(picture.contains("-.->|\"9090/TCP policy-denied ("), picture);
    assertTrue(picture.contains("-->|\"8080/TCP ("), picture);
    assertTrue(ctl("status").out().contains(" of 4096 events, "), "status");
  }

  /** Events may come between the two answers: then both are asked for again. */
  private void assertCounts(int most) throws Exception {
    final long endNs = System.nanoTime() + LIMIT.toNanos();
    int kept = observe("--last 1000000 -o json").size();
    JsonNode flows = observerAfterASecond(Math.min(kept, most));
    while (flows.at("/observer/current-flows").asInt() != Math.min(kept, most)) {
      assertTrue(System.nanoTime() < endNs, kept + " events, " + flows);
      kept = observe("--last 1000000 -o json").size();
      flows = observerAfterASecond(Math.min(kept, most));
    }
    assertEquals("Ok", flows.get("state").asString());
    assertEquals("Disabled", flows.at("/metrics/state").asString());
    assertEquals(most, flows.at("/observer/max-flows").asInt());
    assertTrue(flows.at("/observer/seen-flows").asLong() >= kept, flows.toString());
    final String uptime = flows.at("/observer/uptime").asString();
    assertTrue(uptime.matches("([0-9]+m)?[0-9]+s"), uptime);
  }

  /** Returns what is answered once it has so many flows, or has been rendered anew. */
  private JsonNode observerAfterASecond(int count) throws Exception {
    final long endNs = System.nanoTime() + Duration.ofMillis(1500).toNanos();
    return observer(
        now -> now.at("/observer/current-flows").asInt() == count || System.nanoTime() > endNs);
  }

  /**
   * What was kept comes first, then the flows that begin while it follows. The first packets that
   * it shows may be of a connection that was open before, which has no verdict.
   */
  private void follow() throws Exception {
    final String[] line = {
      "observe", "--follow", "--host", "unix://" + agent.socket(), "--protocol", "tcp"
    };
    try (CtlProcess ctl = CtlProcess.start(directory, line)) {
      final long endNs = System.nanoTime() + LIMIT.toNanos();
      while (!ctl.output().contains(" verdict ")) {
        assertTrue(System.nanoTime() < endNs, ctl.output());
        allow();
        Thread.sleep(100);
      }
      final String output = ctl.output();
      assertTrue(output.lines().findFirst().orElseThrow().contains(" policy-denied: "), output);
      assertTrue(output.contains(":" + ALLOWED + " "), output);
    }
  }

  @Test
  void shouldKeepWhatTheOptionsSay() throws Exception {
    start("--flowobs-event-buffer-capacity=2", "--flowobs-monitor-events=verdict");
    deny();
    allow();
    allow();
    allow();
    final List<String> kept = observe("-o json");
    assertEquals(2, kept.size());
    for (final String line : kept) {
      final JsonNode verdict = MAPPER.readTree(line);
      assertEquals("verdict", verdict.get("type").asString());
      assertEquals(ALLOWED, verdict.at("/destination/port").asInt());
    }
    final JsonNode flows = observer(now -> now.at("/observer/seen-flows").asInt() > 2);
    assertEquals(2, flows.at("/observer/current-flows").asInt());
    assertEquals(2, flows.at("/observer/max-flows").asInt());
    assertEquals(
        "keeps verdicts, and all events while a subscriber listens", flows.get("msg").asString());
  }

  @Test
  void shouldHaveNothingEmittedByDefaultWhileNoProgramListens() throws Exception {
    start();
    deny();
    allow();
    assertEquals(List.of(), observe("-o json"));
    Thread.sleep(1100); // the answer is rendered anew within a second
    final JsonNode health = health();
    assertEquals("Ok", health.at("/flowobs/state").asString());
    assertEquals(0, health.at("/flowobs/observer/seen-flows").asLong(-1));
    assertEquals(0, health.at("/nodeMonitor/seen").asLong(-1));
  }

  @Test
  void shouldHaveNothingEmittedWhereTheObserverIsOff() throws Exception {
    start("--flowobs-event-buffer-capacity=0");
    deny();
    allow();
    final Outcome outcome = ctl("observe");
    assertEquals(1, outcome.exitCode());
    assertTrue(outcome.err().contains("flowobs-event-buffer-capacity is 0"), outcome.err());
    Thread.sleep(1100); // the answer is rendered anew within a second
    final JsonNode health = health();
    assertEquals("Disabled", health.at("/flowobs/state").asString());
    assertTrue(health.at("/flowobs/observer").isMissingNode(), health.toString());
    assertEquals(0, health.at("/nodeMonitor/seen").asLong());
  }
}
