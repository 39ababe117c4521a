package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.TcpConnection;
import agent.testkit.TcpEchoServer;
import agent.testkit.VethPair;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFileAttributes;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** One agent with options that are not the defaults: each of them is in force. */
@KernelTest
class AgentOptionsKernelTest {
  private static final int PORT = 8080;

  private static TestNode node;
  private static AgentProcess agent;
  private static TestWorkload first;
  private static TestWorkload second;

  @BeforeAll
  static void startAgent() throws Exception {
    node = new TestNode();
    final NetworkNamespace outside = NetworkNamespace.create("outside");
    node.keep(outside);
    VethPair.create(node.namespace(), "ext0", outside, "eth0");
    agent =
        node.agent(
            "--enable-policy=always",
            "--labels=tier",
            "--monitor-aggregation=Medium",
            "--disable-conntrack",
            "--debug",
            "--cluster-name=blue",
            "--conntrack-garbage-collector-interval=1s",
            "--socket-group=daemon",
            "--prefilter-device=ext0",
            "--prefilter-mode=generic");
    first = node.workload(agent, "first", "app=a", "tier=front");
    second = node.workload(agent, "second", "app=b", "tier=front");
    node.keep(TcpEchoServer.start(second.namespace(), PORT));
  }

  @AfterAll
  static void stop() throws Exception {
    if (node != null) {
      node.close();
    }
  }

  @Test
  void shouldEnforcePolicyWhereNoRuleSelects() throws Exception {
    assertEquals(
        "always",
        agent.expect(200, "GET", "/config", null).json().at("/spec/policy-enforcement").asString());
    final JsonNode policy = endpoint(second).at("/status/policy/realized");
    assertEquals("both", policy.get("policy-enabled").asString(), policy.toString());
    for (final String address : new String[] {second.ipv4(), second.ipv6()}) {
      assertEquals(
          TcpConnection.Outcome.UNANSWERED,
          TcpConnection.attempt(first.namespace(), address, PORT, 500));
    }
  }

  @Test
  void shouldMakeIdentitiesOfTheNamedLabelsOnly() throws Exception {
    final JsonNode identity = endpoint(first).at("/status/identity");
    assertTrue(identity.get("labels").toString().contains("tier=front"), identity.toString());
    assertEquals(1, identity.get("labels").size(), identity.toString());
    assertEquals(identity.get("id"), endpoint(second).at("/status/identity/id"));
  }

  @Test
  void shouldStartEndpointsWithTheOptionsOfTheDaemon() throws Exception {
    final JsonNode options = endpoint(first).at("/status/realized/options");
    assertEquals("Medium", options.get("MonitorAggregationLevel").asString(), options.toString());
    assertEquals("Disabled", options.get("Conntrack").asString(), options.toString());
    assertEquals("Enabled", options.get("Debug").asString(), options.toString());
    assertEquals("Enabled", options.get("SourceIPVerification").asString(), options.toString());
  }

  @Test
  void shouldCarryTheNameOfTheCluster() throws Exception {
    final JsonNode cluster = agent.expect(200, "GET", "/healthz", null).json().get("cluster");
    assertEquals("blue", cluster.get("name").asString());
    final String self = cluster.get("self").asString();
    final String host = self.substring(self.indexOf('/') + 1);
    agent.expect(200, "GET", "/endpoint/agent-global:blue:" + host + ":" + first.id(), null);
    agent.expect(404, "GET", "/endpoint/agent-global:default:" + host + ":" + first.id(), null);
  }

  /** With the default interval of 60 s the first round would come too late. */
  @Test
  void shouldSweepTheFlowsInTheIntervalOfTheOption() throws Exception {
    final double before = metric("agent_conntrack_gc_runs_total");
    final long deadlineNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(40);
    while (metric("agent_conntrack_gc_runs_total") < before + 2 && System.nanoTime() < deadlineNs) {
      Thread.sleep(100);
    }
    assertTrue(metric("agent_conntrack_gc_runs_total") >= before + 2, "sweeps");
  }

  @Test
  void shouldGiveTheSocketToTheGroup() throws Exception {
    assertEquals(
        "daemon",
        Files.readAttributes(agent.socket(), PosixFileAttributes.class).group().getName());
  }

  @Test
  void shouldAttachThePrefilterInTheModeOfTheOption() throws Exception {
    final String link = node.namespace().exec("ip", "link", "show", "dev", "ext0");
    assertTrue(link.contains("xdpgeneric"), link);
  }

  @Test
  void shouldNameTheThreadInTheLogWhereItDebugs() throws Exception {
    assertTrue(agent.log().contains(" INFO  [main] DaemonProcess: agent "), agent.log());
  }

  private static JsonNode endpoint(TestWorkload workload) throws Exception {
    return agent.expect(200, "GET", "/endpoint/" + workload.id(), null).json();
  }

  private static double metric(String name) throws Exception {
    for (final JsonNode metric : agent.expect(200, "GET", "/metrics/", null).json()) {
      if (metric.get("name").asString().equals(name)) {
        return metric.get("value").asDouble();
      }
    }
    throw new AssertionError("there is no metric " + name);
  }

  @Test
  void shouldGiveWorkloadsAddressesOfTheRanges() throws Exception {
    assertTrue(first.ipv4().startsWith("10.210.0."), first.ipv4());
    assertTrue(first.ipv6().startsWith("fd00:210::"), first.ipv6());
    final JsonNode addressing =
        agent.expect(200, "GET", "/config", null).json().at("/status/addressing");
    assertEquals("10.210.0.0/24", addressing.at("/ipv4/alloc-range").asString());
    assertEquals("fd00:210::/96", addressing.at("/ipv6/alloc-range").asString());
  }

  /** The agent sweeps every second, so that what it counts are the flows that there are. */
  @Test
  void shouldRememberNoFlowsWhereConntrackIsOff() throws Exception {
    agent.expect(
        200,
        "PUT",
        "/policy",
        """
        [{"endpointSelector": {}, "ingress": [{"fromEntities": ["all"]}],
          "egress": [{"toEntities": ["all"]}],
          "labels": [{"key": "of", "source": "user", "value": "flows"}]}]
        """);
    try {
      for (final String address : new String[] {second.ipv4(), second.ipv6()}) {
        assertEquals(
            TcpConnection.Outcome.CONNECTED,
            TcpConnection.attempt(first.namespace(), address, PORT, 2000));
      }
      for (final String map : new String[] {"conntrack4_tcp", "conntrack6_tcp"}) {
        assertEquals(
            0, agent.expect(200, "GET", "/map/" + map, null).json().get("entries").asInt(), map);
      }
    } finally {
      agent.expect(200, "DELETE", "/policy", "[\"user:of=flows\"]");
    }
  }
}
