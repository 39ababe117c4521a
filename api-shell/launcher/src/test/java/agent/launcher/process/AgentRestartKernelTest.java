package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import agent.testkit.TcpConnection;
import agent.testkit.TcpEchoServer;
import agent.testkit.TcpLosses;
import agent.testkit.UdpEchoServer;
import agent.testkit.UdpStream;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** The agent ends, in both ways, and another one takes over, while workloads talk. */
@KernelTest
class AgentRestartKernelTest {
  private static final int TCP = 8080;
  private static final int UDP = 5353;

  /** backend takes TCP 8080 and UDP 5353 from frontend, and nothing from anyone else. */
  private static final String POLICY =
      """
      [{"endpointSelector": {"matchLabels": {"app": "backend"}},
        "labels": [{"key": "name", "value": "restart", "source": "user"}],
        "ingress": [{"fromEndpoints": [{"matchLabels": {"app": "frontend"}}],
                     "toPorts": [{"ports": [{"port": "8080", "protocol": "TCP"},
                                            {"port": "5353", "protocol": "UDP"}]}]}]}]
      """;

  private TestNode node;
  private TestWorkload frontend;
  private TestWorkload backend;
  private TestWorkload stranger;

  @Test
  void shouldLoseNoPacketOverSigtermAndTheNextAgent() throws Exception {
    overARestart(
        agent -> {
          assertEquals(0, agent.terminate(), agent.log());
          assertFalse(Files.exists(agent.socket()), "the socket is removed");
        });
  }

  @Test
  void shouldLoseNoPacketOverSigkillAndTheNextAgent() throws Exception {
    overARestart(AgentProcess::kill);
  }

  private interface Closing {
    void close() throws IOException;
  }

  private interface End {
    void of(AgentProcess agent) throws Exception;
  }

  private void overARestart(End end) throws Exception {
    try (TestNode opened = new TestNode()) {
      node = opened;
      final AgentProcess first = node.agent();
      frontend = node.workload(first, "frontend", "app=frontend");
      backend = node.workload(first, "backend", "app=backend");
      stranger = node.workload(first, "stranger", "app=stranger");
      first.expect(200, "PUT", "/policy", POLICY);
      final Set<String> before = endpoints(first);
      final long revision = revision(first);
      try (Traffic traffic = new Traffic()) {
        traffic.flows(50);
        end.of(first);
        traffic.flows(50);
        assertEnforced("without an agent");

        final AgentProcess second = node.agent();
        assertEquals(before, endpoints(second));
        assertTrue(revision(second) >= revision, "the revision does not go back");
        traffic.flows(50);
        assertEnforced("with the next agent");

        second.expect(200, "DELETE", "/policy", null);
        assertEquals(
            TcpConnection.Outcome.CONNECTED,
            TcpConnection.attempt(stranger.namespace(), backend.ipv4(), TCP, 2000),
            "the next agent changes policy");
        traffic.assertNothingLost();
      }
    }
  }

  private void assertEnforced(String when) {
    for (final String address : List.of(backend.ipv4(), backend.ipv6())) {
      assertEquals(
          TcpConnection.Outcome.CONNECTED,
          TcpConnection.attempt(frontend.namespace(), address, TCP, 2000),
          when);
      assertEquals(
          TcpConnection.Outcome.UNANSWERED,
          TcpConnection.attempt(stranger.namespace(), address, TCP, 500),
          when);
    }
  }

  /** Ids, identities and addresses. */
  private static Set<String> endpoints(AgentProcess agent) throws Exception {
    final Set<String> endpoints = new TreeSet<>();
    for (final JsonNode endpoint : agent.expect(200, "GET", "/endpoint", null).json()) {
      final JsonNode status = endpoint.get("status");
      assertEquals("ready", status.get("state").asString());
      endpoints.add(
          endpoint.get("id")
              + " "
              + status.get("identity").get("id")
              + " "
              + status.get("networking").get("addressing"));
    }
    return endpoints;
  }

  private static long revision(AgentProcess agent) throws Exception {
    return agent.expect(200, "GET", "/policy", null).json().get("revision").asLong();
  }

  /** TCP and UDP from frontend to backend over both families, from before to after. */
  private final class Traffic implements AutoCloseable {
    private final List<Closing> open = new ArrayList<>();
    private final List<TcpConnection> connections = new ArrayList<>();
    private final List<UdpStream> streams = new ArrayList<>();
    private final List<TcpLosses> losses =
        List.of(TcpLosses.of(frontend.namespace()), TcpLosses.of(backend.namespace()));

    Traffic() {
      open.add(TcpEchoServer.start(backend.namespace(), TCP)::close);
      for (final String address : List.of(backend.ipv4(), backend.ipv6())) {
        open.add(UdpEchoServer.start(backend.namespace(), address, UDP)::close);
        connections.add(TcpConnection.open(frontend.namespace(), address, TCP));
        streams.add(UdpStream.start(frontend.namespace(), address, UDP, 2));
      }
      connections.forEach(connection -> open.add(connection::close));
      streams.forEach(stream -> open.add(stream::close));
    }

    void flows(int messages) throws Exception {
      for (final TcpConnection connection : connections) {
        assertTrue(connection.exchangesMore(messages, 10_000), "" + connection.failure());
      }
    }

    void assertNothingLost() {
      for (final TcpConnection connection : connections) {
        assertNull(connection.failure());
      }
      for (final TcpLosses side : losses) {
        assertEquals(0, side.lost(), "lost TCP segments");
      }
      for (final UdpStream stream : streams) {
        assertEquals(0, stream.stopAndCountLost(), "of " + stream.sent());
      }
    }

    @Override
    public void close() throws IOException {
      for (final Closing part : open.reversed()) {
        part.close();
      }
    }
  }
}
