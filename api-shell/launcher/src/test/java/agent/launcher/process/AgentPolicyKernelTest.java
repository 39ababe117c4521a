package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import agent.testkit.TcpConnection;
import agent.testkit.TcpEchoServer;
import agent.testkit.UdpEchoServer;
import agent.testkit.UdpStream;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * The contract's policy behaviours 1 to 4 and 6, by real traffic of both families: before a rule,
 * with it, and after it is deleted.
 */
@KernelTest
class AgentPolicyKernelTest {
  private static final int TCP = 8080;
  private static final int OTHER_TCP = 9090;
  private static final int UDP = 5353;

  private static TestNode node;
  private static AgentProcess agent;
  private static TestWorkload frontend;
  private static TestWorkload backend;
  private static TestWorkload stranger;

  @BeforeAll
  static void startAgentAndWorkloads() throws Exception {
    node = new TestNode();
    agent = node.agent();
    frontend = node.workload(agent, "frontend", "app=frontend");
    backend = node.workload(agent, "backend", "app=backend");
    stranger = node.workload(agent, "stranger", "app=stranger");
    for (final TestWorkload workload : List.of(frontend, backend, stranger)) {
      node.keep(TcpEchoServer.start(workload.namespace(), TCP));
      node.keep(TcpEchoServer.start(workload.namespace(), OTHER_TCP));
      for (final String address : List.of(workload.ipv4(), workload.ipv6())) {
        node.keep(UdpEchoServer.start(workload.namespace(), address, UDP));
      }
    }
  }

  @AfterAll
  static void stop() throws Exception {
    if (node != null) {
      node.close();
    }
  }

  @AfterEach
  void deleteAllRules() throws Exception {
    agent.expect(200, "DELETE", "/policy", null);
  }

  @Test
  void shouldEnforceNothingWhileNoRuleSelectsAnEndpoint() throws Exception {
    assertEverythingOpen();
    assertEquals("none", enforcement(backend));
    apply(rule("app", "elsewhere", "ingress", "[]"));
    assertEverythingOpen();
    assertEquals("none", enforcement(backend));
  }

  @Test
  void shouldAdmitOnlyTheSelectedSourceOnTheListedPort() throws Exception {
    apply(rule("app", "backend", "ingress", from("frontend", "8080", "TCP")));
    assertEquals("ingress", enforcement(backend));
    assertReach(true, frontend, backend, TCP);
    assertReach(false, frontend, backend, OTHER_TCP);
    assertReach(false, stranger, backend, TCP);
    assertUdp(false, frontend, backend);
    assertReach(true, backend, stranger, TCP);
    agent.expect(200, "DELETE", "/policy", null);
    assertEverythingOpen();
  }

  @Test
  void shouldAdmitUdpAndItsRepliesOnly() throws Exception {
    apply(rule("app", "backend", "ingress", from("frontend", "5353", "UDP")));
    assertUdp(true, frontend, backend);
    assertUdp(false, stranger, backend);
    assertReach(false, frontend, backend, TCP);
    agent.expect(200, "DELETE", "/policy", null);
    assertEverythingOpen();
  }

  @Test
  void shouldRestrictWhatAnEndpointReaches() throws Exception {
    apply(
        rule(
            "app",
            "frontend",
            "egress",
            "[{\"toEndpoints\": [{\"matchLabels\": {\"app\": \"backend\"}}],"
                + " \"toPorts\": [{\"ports\": [{\"port\": \"8080\", \"protocol\": \"TCP\"}]}]}]"));
    assertEquals("egress", enforcement(frontend));
    assertReach(true, frontend, backend, TCP);
    assertReach(false, frontend, backend, OTHER_TCP);
    assertReach(false, frontend, stranger, TCP);
    assertReach(true, stranger, frontend, TCP);
    assertUdp(false, frontend, backend);
    agent.expect(200, "DELETE", "/policy", null);
    assertEverythingOpen();
  }

  @Test
  void shouldLetADenyRuleWin() throws Exception {
    apply(
        """
        [{"endpointSelector": {"matchLabels": {"app": "backend"}},
          "ingress": [{"fromEndpoints": [{}]}],
          "ingressDeny": [{"fromEndpoints": [{"matchLabels": {"app": "stranger"}}]}]}]
        """);
    assertReach(true, frontend, backend, TCP);
    assertReach(false, stranger, backend, TCP);
    agent.expect(200, "DELETE", "/policy", null);
    assertEverythingOpen();
  }

  @Test
  void shouldCutARunningConnectionThatAChangeForbidsAndHealItWhenItIsAllowedAgain()
      throws Exception {
    try (TcpConnection ipv4 = TcpConnection.open(frontend.namespace(), backend.ipv4(), TCP);
        TcpConnection ipv6 = TcpConnection.open(frontend.namespace(), backend.ipv6(), TCP)) {
      assertTrue(ipv4.exchangesMore(20, 5000) && ipv6.exchangesMore(20, 5000));
      apply(rule("app", "backend", "ingress", from("stranger", "8080", "TCP")));
      assertTrue(ipv4.isCutFor(500), "IPv4 goes on");
      assertTrue(ipv6.isCutFor(500), "IPv6 goes on");
      agent.expect(200, "DELETE", "/policy", null);
      assertTrue(ipv4.exchangesMore(20, 10_000) && ipv6.exchangesMore(20, 10_000));
    }
  }

  @Test
  void shouldFollowTheLabelsOfAnEndpointAndNotItsAddress() throws Exception {
    apply(rule("app", "backend", "ingress", from("frontend", "8080", "TCP")));
    assertReach(false, stranger, backend, TCP);
    final String labels = "/endpoint/" + stranger.id() + "/labels";
    agent.expect(200, "PATCH", labels, "{\"user\": [\"app=frontend\"]}");
    assertReach(true, stranger, backend, TCP);
    agent.expect(200, "PATCH", labels, "{\"user\": []}");
    assertReach(false, stranger, backend, TCP);
  }

  private static void apply(String rules) throws Exception {
    agent.expect(200, "PUT", "/policy", rules);
  }

  private static String rule(String key, String value, String direction, String peers) {
    return """
    [{"endpointSelector": {"matchLabels": {"%s": "%s"}}, "%s": %s}]
    """
        .formatted(key, value, direction, peers);
  }

  private static String from(String app, String port, String protocol) {
    return """
    [{"fromEndpoints": [{"matchLabels": {"app": "%s"}}],
      "toPorts": [{"ports": [{"port": "%s", "protocol": "%s"}]}]}]
    """
        .formatted(app, port, protocol);
  }

  private static String enforcement(TestWorkload workload) throws Exception {
    return agent
        .expect(200, "GET", "/endpoint/" + workload.id(), null)
        .json()
        .at("/status/policy/realized/policy-enabled")
        .asString();
  }

  private static void assertEverythingOpen() throws Exception {
    for (final TestWorkload from : List.of(frontend, stranger)) {
      assertReach(true, from, backend, TCP);
      assertReach(true, backend, from, TCP);
      assertUdp(true, from, backend);
    }
  }

  /** A denied connection attempt gets no answer, not a reset. */
  private static void assertReach(boolean reaches, TestWorkload from, TestWorkload to, int port) {
    for (final String address : List.of(to.ipv4(), to.ipv6())) {
      assertEquals(
          reaches ? TcpConnection.Outcome.CONNECTED : TcpConnection.Outcome.UNANSWERED,
          TcpConnection.attempt(from.namespace(), address, port, reaches ? 3000 : 400),
          from.labels() + " to " + to.labels() + " " + address + " port " + port);
    }
  }

  private static void assertUdp(boolean reaches, TestWorkload from, TestWorkload to)
      throws Exception {
    for (final String address : List.of(to.ipv4(), to.ipv6())) {
      try (UdpStream stream = UdpStream.start(from.namespace(), address, UDP, 5)) {
        Thread.sleep(60);
        final long lost = stream.stopAndCountLost();
        assertEquals(
            reaches ? 0 : stream.sent(),
            lost,
            from.labels() + " to " + to.labels() + " " + address + " UDP");
      }
    }
  }
}
