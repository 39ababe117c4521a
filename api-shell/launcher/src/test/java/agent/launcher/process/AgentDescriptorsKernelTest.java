package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** More clients than an agent with few descriptors can have. */
@KernelTest
class AgentDescriptorsKernelTest {
  private static final int DESCRIPTORS = 400;
  private static final int CLIENTS = 600;
  private static final int WRITES = 20;

  private final List<SocketChannel> idle = new ArrayList<>();
  private TestNode node;

  @BeforeEach
  void openNode() throws Exception {
    node = new TestNode();
  }

  @AfterEach
  void closeNode() throws Exception {
    for (final SocketChannel client : idle) {
      client.close();
    }
    node.close();
  }

  @Test
  void shouldWriteAndServeNewClientsWhileHundredsAreIdle() throws Exception {
    final AgentProcess agent = node.launchWithDescriptors(DESCRIPTORS).ready();
    for (int i = 0; i < CLIENTS; i++) {
      final SocketChannel client = SocketChannel.open(StandardProtocolFamily.UNIX);
      idle.add(client);
      client.connect(UnixDomainSocketAddress.of(agent.socket()));
    }
    for (int i = 0; i < WRITES; i++) {
      final JsonNode lease = agent.expect(201, "POST", "/ipam?owner=client-" + i, null).json();
      agent.expect(
          200,
          "PUT",
          "/policy",
          "[{\"endpointSelector\": {\"matchLabels\": {\"n\": \"" + i + "\"}}, \"ingress\": []}]");
      assertTrue(lease.has("ipv4"), lease.toString());
    }
    final TestWorkload workload = node.workload(agent, "new", "app=new");
    agent.expect(200, "GET", "/endpoint/" + workload.id(), null);
    assertEquals(DESCRIPTORS / 4.0, metric(agent, "agent_api_connections_limit"));
    assertTrue(metric(agent, "agent_api_connections") <= DESCRIPTORS / 4.0);
    assertTrue(
        metric(agent, "agent_api_connections_closed_idle_total") >= CLIENTS - DESCRIPTORS / 4.0,
        "idle connections are closed to make room");
    assertEquals(
        "Ok", agent.expect(200, "GET", "/healthz", null).json().at("/agent/state").asString());
  }

  private static double metric(AgentProcess agent, String name) throws Exception {
    for (final JsonNode metric : agent.expect(200, "GET", "/metrics/", null).json()) {
      if (metric.get("name").asString().equals(name)) {
        return metric.get("value").asDouble();
      }
    }
    throw new AssertionError("there is no metric " + name);
  }
}
