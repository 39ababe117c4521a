package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import agent.testkit.TcpConnection;
import agent.testkit.TcpConnection.Outcome;
import agent.testkit.TcpEchoServer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** {@code --bpf-policy-map-max}: what does not fit is refused as a whole. */
@KernelTest
class AgentPolicyCapacityKernelTest {
  private static final String OPTION = "--bpf-policy-map-max";
  private static final int ALLOWED = 8080;
  private static final int DENIED = 9090;

  private TestNode node;
  private AgentProcess agent;
  private TestWorkload client;
  private TestWorkload server;

  @BeforeEach
  void startAgent() throws Exception {
    node = new TestNode();
    agent = node.agent(OPTION, "256");
    client = node.workload(agent, "client", "app=client");
    server = node.workload(agent, "server", "app=server");
    node.keep(TcpEchoServer.start(server.namespace(), ALLOWED));
    node.keep(TcpEchoServer.start(server.namespace(), DENIED));
  }

  @AfterEach
  void stop() throws Exception {
    node.close();
  }

  /** Returns a rule that lets the client reach so many ports of the server, each an entry. */
  private static String rule(int ports) {
    final String others =
        IntStream.range(1, ports)
            .mapToObj(i -> ", {\"port\": \"%d\", \"protocol\": \"TCP\"}".formatted(20_001 + 2 * i))
            .collect(Collectors.joining());
    return """
    [{"endpointSelector": {"matchLabels": {"app": "server"}},
      "ingress": [{"fromEndpoints": [{"matchLabels": {"app": "client"}}],
        "toPorts": [{"ports": [{"port": "%d", "protocol": "TCP"}%s]}]}]}]
    """
        .formatted(ALLOWED, others);
  }

  private void assertReach(Outcome allowed, Outcome denied) {
    for (final String address : new String[] {server.ipv4(), server.ipv6()}) {
      assertEquals(allowed, TcpConnection.attempt(client.namespace(), address, ALLOWED, 2000));
      assertEquals(denied, TcpConnection.attempt(client.namespace(), address, DENIED, 400));
    }
  }

  private JsonNode policy() throws Exception {
    return agent.expect(200, "GET", "/policy", null).json();
  }

  private int capacity() throws Exception {
    for (final JsonNode map : agent.expect(200, "GET", "/map", null).json().get("maps")) {
      if (map.get("name").asString().equals("policy_%05d".formatted(server.id()))) {
        return map.get("max-entries").asInt();
      }
    }
    throw new AssertionError("no policy map of endpoint " + server.id());
  }

  @Test
  void shouldRefuseAsAWholeWhatDoesNotFit() throws Exception {
    final Path rules = node.state().resolve("policy/rules.json");
    final JsonNode before = policy();
    final boolean wasStored = Files.exists(rules);
    final String refused = agent.expect(500, "PUT", "/policy", rule(300)).text();
    assertTrue(
        refused.contains(
            "endpoint %d requires 301 policy map entries, the limit is 256 (%s)"
                .formatted(server.id(), OPTION)),
        refused);
    assertEquals(before, policy());
    assertEquals(wasStored, Files.exists(rules));
    assertReach(Outcome.CONNECTED, Outcome.CONNECTED);

    agent.expect(200, "PUT", "/policy", rule(200));
    final JsonNode accepted = policy();
    final byte[] stored = Files.readAllBytes(rules);
    agent.expect(500, "PUT", "/policy", rule(300));
    assertEquals(accepted, policy());
    assertArrayEquals(stored, Files.readAllBytes(rules));
    assertReach(Outcome.CONNECTED, Outcome.UNANSWERED);
    final JsonNode health =
        agent.expect(200, "GET", "/endpoint/" + server.id() + "/healthz", null).json();
    assertEquals("OK", health.get("policy").asString());
    assertEquals(256, capacity());

    assertEquals(0, agent.terminate(), agent.log());
    agent = node.agent(OPTION, "256");
    assertEquals(accepted, policy());
    assertReach(Outcome.CONNECTED, Outcome.UNANSWERED);
  }

  @Test
  void shouldKeepWhatIsEnforcedWhereTheCapacityChanges() throws Exception {
    agent.expect(200, "PUT", "/policy", rule(200));
    assertEquals(0, agent.terminate(), agent.log());
    agent = node.agent(OPTION, "1024");
    assertEquals(1024, capacity());
    assertReach(Outcome.CONNECTED, Outcome.UNANSWERED);
    agent.expect(200, "PUT", "/policy", rule(900));
    assertReach(Outcome.CONNECTED, Outcome.UNANSWERED);

    assertEquals(0, agent.terminate(), agent.log());
    agent = node.agent(OPTION, "2048");
    assertReach(Outcome.CONNECTED, Outcome.UNANSWERED);
    assertTrue(agent.log().contains("resizing from 1024 to 2048 entries"), agent.log());
  }
}
