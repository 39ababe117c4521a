package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A client that holds all the connections of the HTTP proxy that it can have. */
@KernelTest
class AgentProxyConnectionsKernelTest {
  private static final int DESCRIPTORS = 2_000;
  private static final int PORT = 8080;

  /** What the HTTP proxy has of them, but for the part that others get a share of. */
  private static final int HELD = 501 - 501 / 16;

  private final List<KeptConnection> held = new ArrayList<>();
  private TestNode node;
  private AgentProcess agent;
  private TestWorkload client;
  private TestWorkload other;
  private TestWorkload server;

  @BeforeEach
  void openNode() throws Exception {
    node = new TestNode();
    agent = node.launchWithDescriptors(DESCRIPTORS).ready();
    client = node.workload(agent, "client", "app=client");
    other = node.workload(agent, "other", "app=other");
    server = node.workload(agent, "server", "app=server");
    node.keep(HttpOrigin.start(server.namespace(), PORT));
    agent.expect(
        200,
        "PUT",
        "/policy",
        """
        [{"endpointSelector": {"matchLabels": {"app": "server"}},
          "ingress": [{"toPorts": [{"ports": [{"port": "8080", "protocol": "TCP"}],
                                    "rules": {"http": [{"path": "/public"}]}}]}]}]
        """);
  }

  @AfterEach
  void closeNode() throws Exception {
    for (final KeptConnection connection : held) {
      connection.close();
    }
    node.close();
  }

  private KeptConnection open(TestWorkload from) throws Exception {
    held.add(KeptConnection.open(from.namespace(), server.ipv4(), PORT));
    return held.getLast();
  }

  private void assertServes(KeptConnection connection) throws IOException {
    assertEquals(200, connection.request("GET /public"), agent.log());
  }

  @Test
  void shouldHoldAllConnectionsOfOneClientAndServeAnother() throws Exception {
    for (int i = 0; i < HELD; i++) {
      assertServes(open(client));
    }
    assertEquals(HELD, agent.metric("agent_proxy_connections"));
    final KeptConnection late = open(other);
    assertServes(late);
    assertEquals(
        "Ok", agent.expect(200, "GET", "/healthz", null).json().at("/agent/state").asString());
    for (final KeptConnection connection : held) {
      assertServes(connection);
      assertEquals(403, connection.request("GET /secret"));
    }
    assertEquals(HELD + 1, agent.metric("agent_proxy_connections"));
    assertEquals(0, agent.metric("agent_proxy_connections_closed_idle_total"));
    assertEquals(0, agent.metric("agent_proxy_connections_refused_total"));
    try (Stream<Path> open = Files.list(Path.of("/proc/" + agent.pid() + "/fd"))) {
      assertTrue(open.count() < DESCRIPTORS);
    }
    for (int i = 0; i < 2 * HELD; i++) {
      open(client);
    }
    assertServes(late);
    assertServes(open(other));
    assertTrue(agent.metric("agent_proxy_connections_closed_idle_total") >= HELD);
    assertEquals(0, agent.metric("agent_proxy_connections_refused_total"));
    agent.expect(200, "GET", "/endpoint", null);
  }
}
