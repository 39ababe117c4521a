package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import agent.testkit.TcpConnection;
import agent.testkit.TcpConnection.Outcome;
import agent.testkit.TcpEchoServer;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Rules on named ports with real traffic between workloads, in both families. */
@KernelTest
class AgentNamedPortsKernelTest {
  private static final int DENIED_MS = 400;
  private static final int ALLOWED_MS = 10_000;
  private static final String RULE =
      """
      [{"endpointSelector": {"matchLabels": {"app": "%s"}},
        "%s": [{"%s": [{"matchLabels": {"app": "%s"}}],
          "toPorts": [{"ports": [{"port": "web", "protocol": "TCP"}]}]}]}]
      """;

  @TempDir private Path directory;
  private final TestNode node = new TestNode();
  private AgentProcess agent;
  private TestWorkload client;
  private TestWorkload first;
  private TestWorkload second;

  AgentNamedPortsKernelTest() throws Exception {}

  @AfterEach
  void stop() throws Exception {
    node.close();
  }

  /** Makes workloads with servers on two ports each; the name is another port of each. */
  private void begin() throws Exception {
    agent = node.agent();
    client = node.workload(agent, "client", "app=client");
    first = server("first", 8080);
    second = server("second", 9090);
  }

  private TestWorkload server(String name, int port) throws Exception {
    final TestWorkload plumbed = node.plumbed(agent, name, "app=server");
    node.keep(TcpEchoServer.start(plumbed.namespace(), 8080));
    node.keep(TcpEchoServer.start(plumbed.namespace(), 9090));
    final String request =
        plumbed.request().replaceFirst("\\{", "{\"named-ports\": %s,".formatted(web(port)));
    return plumbed.withId(
        agent.expect(201, "PUT", "/endpoint/0", request).json().get("id").asInt());
  }

  private static String web(int port) {
    return "[{\"name\": \"web\", \"port\": %d}]".formatted(port);
  }

  private void rename(TestWorkload server, int port) throws Exception {
    agent.expect(
        200,
        "PATCH",
        "/endpoint/" + server.id(),
        "{\"state\": \"ready\", \"sync-build-endpoint\": true, \"named-ports\": %s}"
            .formatted(web(port)));
  }

  private void assertReached(boolean isReached, TestWorkload server, int port) throws Exception {
    for (final String address : new String[] {server.ipv4(), server.ipv6()}) {
      final Outcome outcome =
          TcpConnection.attempt(
              client.namespace(), address, port, isReached ? ALLOWED_MS : DENIED_MS);
      assertEquals(
          isReached, outcome == Outcome.CONNECTED, address + " port " + port + "\n" + agent.log());
    }
  }

  @Test
  void shouldMeanThePortOfTheReceivingEndpointAcrossARestart() throws Exception {
    begin();
    agent.expect(
        200, "PUT", "/policy", RULE.formatted("server", "ingress", "fromEndpoints", "client"));
    assertOwnPorts();
    agent.kill();
    agent = node.agent();
    assertOwnPorts();
    rename(first, 9090);
    assertReached(true, first, 9090);
    assertReached(false, first, 8080);
    assertEquals(
        "web 9090 TCP",
        CtlProcess.run(
                directory,
                "endpoint",
                "get",
                "" + first.id(),
                "-o",
                "jsonpath={.status.namedPorts[0].name} {.status.namedPorts[0].port}"
                    + " {.status.namedPorts[0].protocol}",
                "-H",
                "unix://" + agent.socket())
            .out()
            .strip());
  }

  /** The servers have one identity and one rule, but each its own port. */
  private void assertOwnPorts() throws Exception {
    assertReached(true, first, 8080);
    assertReached(false, first, 9090);
    assertReached(true, second, 9090);
    assertReached(false, second, 8080);
  }

  @Test
  void shouldMeanThePortsOfThePeersAcrossARestart() throws Exception {
    begin();
    agent.expect(
        200, "PUT", "/policy", RULE.formatted("client", "egress", "toEndpoints", "server"));
    assertReached(true, first, 8080);
    assertReached(true, second, 9090);
    rename(second, 8080);
    assertReached(true, second, 8080);
    assertReached(false, first, 9090);
    assertEquals(0, agent.terminate(), agent.log());
    agent = node.agent();
    assertReached(true, first, 8080);
    assertReached(false, first, 9090);
    final String trace =
        CtlProcess.run(
                directory,
                "policy",
                "trace",
                "--from-endpoint",
                "" + client.id(),
                "--to-endpoint",
                "" + first.id(),
                "--port",
                "web/TCP",
                "-H",
                "unix://" + agent.socket())
            .out();
    assertTrue(trace.contains("ALLOWED") && trace.contains("web=8080/TCP"), trace);
    agent.expect(200, "DELETE", "/endpoint/" + first.id(), null);
    agent.expect(200, "DELETE", "/endpoint/" + second.id(), null);
    final TestWorkload third = server("third", 9090);
    assertReached(true, third, 9090);
    assertReached(false, third, 8080);
  }
}
