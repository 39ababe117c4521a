package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import agent.testkit.TcpConnection;
import agent.testkit.TcpConnection.Outcome;
import agent.testkit.TcpEchoServer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** PATCH /config on a running agent and over its restarts, on packets. */
@KernelTest
class AgentConfigurationKernelTest {
  private static final int PORT = 8080;

  private TestNode node;
  private AgentProcess agent;
  private TestWorkload client;
  private TestWorkload server;

  @BeforeEach
  void startAgent() throws Exception {
    node = new TestNode();
    agent = node.agent();
    client = node.workload(agent, "client", "app=client");
    server = node.workload(agent, "server", "app=server");
    node.keep(TcpEchoServer.start(server.namespace(), PORT));
  }

  @AfterEach
  void stop() throws Exception {
    node.close();
  }

  private void assertReached(boolean expected) {
    assertEquals(
        expected ? Outcome.CONNECTED : Outcome.UNANSWERED,
        TcpConnection.attempt(client.namespace(), server.ipv4(), PORT, expected ? 2000 : 400));
  }

  private JsonNode change(String body) throws Exception {
    return agent.expect(200, "PATCH", "/config", body).json();
  }

  private String option(int endpoint, String name) throws Exception {
    final JsonNode shown = agent.expect(200, "GET", "/endpoint/" + endpoint, null).json();
    return shown.at("/status/realized/options/" + name).asString();
  }

  private void restart(String... options) throws Exception {
    assertEquals(0, agent.terminate());
    agent = node.agent(options);
  }

  @Test
  void shouldEnforcePolicyAtOnceAndOverTheRestart() throws Exception {
    assertReached(true);
    final JsonNode closed = change("{\"policy-enforcement\":\"always\"}");
    assertEquals("always", closed.at("/spec/policy-enforcement").asString());
    assertEquals("always", closed.at("/status/realized/policy-enforcement").asString());
    assertEquals("always", closed.at("/status/daemonConfigurationMap/enable-policy").asString());
    assertReached(false);
    restart();
    assertReached(false);
    assertEquals(
        "always",
        agent.expect(200, "GET", "/config", null).json().at("/spec/policy-enforcement").asString());
    change("{\"policy-enforcement\":\"default\"}");
    assertReached(true);
  }

  @Test
  void shouldSetOptionsOnEveryEndpointAndKeepThemUnlessStartedOtherwise() throws Exception {
    agent.expect(
        200,
        "PATCH",
        "/endpoint/" + client.id() + "/config",
        "{\"options\":{\"DropNotification\":\"Disabled\"}}");
    final JsonNode shown =
        change(
            "{\"options\":{\"MonitorAggregationLevel\":\"Maximum\","
                + "\"PolicyTracing\":\"Enabled\"}}");
    assertEquals("Maximum", shown.at("/spec/options/MonitorAggregationLevel").asString());
    assertEquals("Enabled", shown.at("/status/realized/options/PolicyTracing").asString());
    assertEquals("Maximum", option(client.id(), "MonitorAggregationLevel"));
    assertEquals("Maximum", option(server.id(), "MonitorAggregationLevel"));
    assertEquals("Disabled", option(client.id(), "DropNotification"));
    agent.expect(
        200,
        "PUT",
        "/policy",
        "[{\"endpointSelector\":{},\"ingress\":[{\"fromEntities\":[\"all\"]}]}]");
    assertTrue(agent.log().contains("policy trace: endpoint "), "PolicyTracing has no effect");

    restart();
    assertEquals("Maximum", option(client.id(), "MonitorAggregationLevel"));
    assertEquals("Enabled", option(client.id(), "DropNotification"), "not kept by default");
    restart("--monitor-aggregation=Low");
    assertEquals("Low", option(server.id(), "MonitorAggregationLevel"));
    restart();
    assertEquals("None", option(server.id(), "MonitorAggregationLevel"));
  }

  @Test
  void shouldKeepTheOptionsOfEndpointsWhereTheOperatorWantsIt() throws Exception {
    agent.expect(
        200,
        "PATCH",
        "/endpoint/" + client.id() + "/config",
        "{\"options\":{\"DropNotification\":\"Disabled\"}}");
    restart("--keep-config");
    assertEquals("Disabled", option(client.id(), "DropNotification"));
    restart();
    assertEquals("Enabled", option(client.id(), "DropNotification"));
  }

  @Test
  void shouldRefuseByNameAndChangeNothing() throws Exception {
    for (final String body :
        new String[] {
          "{\"options\":{\"Debug\":\"Enabled\",\"Tunnel\":\"vxlan\"}}",
          "{\"options\":{\"Debug\":\"Enabled\",\"tunnel\":\"vxlan\"}}",
          "{\"options\":{\"Debug\":\"Enabled\",\"Conntrack\":\"maybe\"}}",
          "{\"options\":{\"Debug\":\"Enabled\"},\"policy-enforcement\":\"often\"}"
        }) {
      final ApiCall.Answer refused = agent.call("PATCH", "/config", body);
      assertEquals(400, refused.status(), refused.text());
      assertTrue(
          refused.text().matches("\"(options\\.([Tt]unnel|Conntrack)|policy-enforcement): .*"),
          refused.text());
    }
    assertEquals("Disabled", option(client.id(), "Debug"));
    assertFalse(
        agent
            .expect(200, "GET", "/config", null)
            .json()
            .at("/spec/options/Debug")
            .asString()
            .equals("Enabled"));
  }

  /** The interface of one endpoint has another name: it cannot be regenerated. */
  @Test
  void shouldKeepThePreviousProgramsWhereAnEndpointCannotBeRegenerated() throws Exception {
    final TestWorkload gone = node.workload(agent, "gone", "app=gone");
    agent.expect(
        200,
        "PUT",
        "/policy",
        "[{\"endpointSelector\":{},\"ingress\":[{\"fromEntities\":[\"all\"]}]}]");
    node.namespace().exec("ip", "link", "delete", gone.veth().hostInterface());
    final ApiCall.Answer failed =
        agent.call("PATCH", "/config", "{\"options\":{\"PolicyAuditMode\":\"Enabled\"}}");
    assertEquals(500, failed.status(), failed.text());
    assertTrue(failed.text().contains("endpoint " + gone.id()), failed.text());
    assertEquals("Disabled", option(client.id(), "PolicyAuditMode"));
    assertEquals(
        "Disabled",
        agent
            .expect(200, "GET", "/config", null)
            .json()
            .at("/spec/options/PolicyAuditMode")
            .asString());
    assertReached(true);
  }
}
