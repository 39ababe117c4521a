package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tools.jackson.databind.JsonNode;

/** PUT, DELETE and resolution of policy on an agent of its own, one client and many at a time. */
@KernelTest
@Timeout(180)
class AgentPolicyUpdateKernelTest {
  private static final int CLIENTS = 16;
  private static final int CRASHES = 5;

  private static TestNode node;
  private static AgentProcess agent;

  @BeforeAll
  static void startAgent() throws Exception {
    node = new TestNode();
    agent = node.agent();
  }

  @AfterAll
  static void stop() throws Exception {
    if (node != null) {
      node.close();
    }
  }

  @BeforeEach
  void deleteAllRules() throws Exception {
    agent.expect(200, "DELETE", "/policy", null);
  }

  private static String rule(String owner, int port) {
    return """
    {"endpointSelector": {"matchLabels": {"app": "web"}},
     "labels": [{"key": "owner", "value": "%s"}],
     "ingress": [{"fromEndpoints": [{"matchLabels": {"app": "db"}}],
                  "toPorts": [{"ports": [{"port": "%d", "protocol": "TCP"}]}]}]}
    """
        .formatted(owner, port);
  }

  private static long revision() throws Exception {
    return agent.expect(200, "GET", "/policy", null).json().get("revision").asLong();
  }

  /** Returns the ports of the rules by owner. */
  private static Map<String, List<Integer>> held() throws Exception {
    final String text = agent.expect(200, "GET", "/policy", null).json().get("policy").asString();
    final Map<String, List<Integer>> held = new TreeMap<>();
    for (final JsonNode rule : new ApiCall.Answer(200, text).json()) {
      held.computeIfAbsent(rule.at("/labels/0/value").asString(), key -> new ArrayList<>())
          .add(Integer.valueOf(rule.at("/ingress/0/toPorts/0/ports/0/port").asString()));
    }
    return held;
  }

  @Test
  void shouldUpdateRulesByTheirLabelsAndRaiseTheRevisionOnlyWithAChange() throws Exception {
    final long first = revision();
    agent.expect(200, "PUT", "/policy", "[" + rule("a", 80) + "]");
    agent.expect(200, "PUT", "/policy", "[" + rule("a", 80) + "]");
    assertEquals(first + 1, revision());
    agent.expect(200, "PUT", "/policy", "[" + rule("a", 81) + "]");
    assertEquals(Map.of("a", List.of(80, 81)), held());
    agent.expect(200, "PUT", "/policy?replace=true", "[" + rule("a", 82) + "]");
    assertEquals(Map.of("a", List.of(82)), held());
    agent.expect(200, "PUT", "/policy?replace-with-labels=owner=a", "[" + rule("b", 83) + "]");
    assertEquals(Map.of("b", List.of(83)), held());
    assertEquals(first + 4, revision());
    agent.expect(
        400, "PUT", "/policy?replace=true", "[" + rule("b", 84) + "," + rule("b", 70_000) + "]");
    agent.expect(400, "DELETE", "/policy", "[]");
    assertEquals(Map.of("b", List.of(83)), held());
    assertEquals(first + 4, revision());
    agent.expect(200, "DELETE", "/policy", null);
    agent.expect(200, "DELETE", "/policy", null);
    assertEquals(first + 5, revision());
  }

  @Test
  void shouldResolvePolicy() throws Exception {
    agent.expect(200, "PUT", "/policy", "[" + rule("a", 80) + "]");
    final String question =
        """
        {"from": {"labels": ["app=db"]},
         "to": {"labels": ["app=web"], "dports": [{"port": %d, "protocol": "TCP"}]}}
        """;
    final JsonNode allowed =
        agent.expect(200, "GET", "/policy/resolve", question.formatted(80)).json();
    assertEquals("ALLOWED", allowed.get("verdict").asString());
    assertTrue(allowed.get("log").asString().contains("allows"), allowed::toString);
    final JsonNode denied =
        agent.expect(200, "GET", "/policy/resolve", question.formatted(81)).json();
    assertEquals("DENIED", denied.get("verdict").asString());
  }

  /** One client of many: it replaces its own rule again and again, and sometimes is refused. */
  private static final class Client implements Runnable {
    private final String owner;
    private final AtomicBoolean stop;
    private final Queue<String> unexpected;
    private int answered;
    private int asked;
    private long changes;

    Client(int number, AtomicBoolean stop, Queue<String> unexpected) {
      owner = "client-" + number;
      this.stop = stop;
      this.unexpected = unexpected;
    }

    @Override
    public void run() {
      try {
        while (!stop.get()) {
          final int port = asked % 60_000 + 1;
          asked = port;
          final ApiCall.Answer answer =
              agent.call("PUT", "/policy?replace=true", "[" + rule(owner, port) + "]");
          if (answer.status() != 200) {
            unexpected.add(owner + ": " + answer.status() + " " + answer.text());
            return;
          }
          answered = port;
          changes++;
          if (port % 5 == 0) {
            final ApiCall.Answer refused =
                agent.call("DELETE", "/policy", "[\"owner=refused-" + owner + "\"]");
            if (refused.status() != 404) {
              unexpected.add(owner + ": " + refused.status() + " " + refused.text());
              return;
            }
          }
        }
      } catch (Exception e) {
        if (!stop.get()) {
          unexpected.add(owner + ": " + e);
        }
      }
    }
  }

  private static List<Client> run(long millis, boolean kills) throws Exception {
    final AtomicBoolean stop = new AtomicBoolean();
    final Queue<String> unexpected = new ConcurrentLinkedQueue<>();
    final List<Client> clients = new ArrayList<>();
    final List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < CLIENTS; i++) {
      clients.add(new Client(i, stop, unexpected));
      threads.add(Thread.ofPlatform().daemon().start(clients.getLast()));
    }
    Thread.sleep(millis);
    stop.set(true);
    if (kills) {
      agent.kill();
    }
    for (final Thread thread : threads) {
      assertTrue(thread.join(Duration.ofMinutes(2)), "a client without an answer");
    }
    assertEquals(List.of(), List.copyOf(unexpected));
    return clients;
  }

  @Test
  void shouldAnswerEachOfManyClientsForItsOwnChange() throws Exception {
    final long first = revision();
    final long beginNs = System.nanoTime();
    final List<Client> clients = run(4000, false);
    final double seconds = (System.nanoTime() - beginNs) / 1e9;
    final Map<String, List<Integer>> expected = new HashMap<>();
    long changes = 0;
    for (final Client client : clients) {
      expected.put(client.owner, List.of(client.answered));
      changes += client.changes;
    }
    System.out.printf(
        "%d policy changes by %d clients, %.0f a second%n", changes, CLIENTS, changes / seconds);
    assertEquals(expected, held());
    assertEquals(first + changes, revision(), "one revision a change");
  }

  /** What was answered is on the disk; what was refused is not; what was not answered is whole. */
  @Test
  void shouldKeepWhatWasAnsweredToManyClientsOverSigkill() throws Exception {
    for (int crash = 0; crash < CRASHES; crash++) {
      final List<Client> clients = run(300 + 137 * crash, true);
      agent = node.agent();
      final Map<String, List<Integer>> held = held();
      for (final Client client : clients) {
        final List<Integer> found = held.getOrDefault(client.owner, List.of());
        final boolean isLast =
            found.equals(List.of(client.asked))
                || found.equals(client.answered == 0 ? List.of() : List.of(client.answered));
        assertTrue(isLast, client.owner + " has " + found + " not " + client.answered);
      }
      assertFalse(held.keySet().stream().anyMatch(owner -> owner.startsWith("refused")));
      agent.expect(200, "DELETE", "/policy", null);
    }
  }
}
