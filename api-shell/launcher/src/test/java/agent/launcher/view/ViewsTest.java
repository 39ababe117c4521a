package agent.launcher.view;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import agent.conductor.HealthBoard.Reading;
import agent.contract.daemon.DaemonStatusModel;
import agent.contract.daemon.DaemonStatusModel.ComponentStatus;
import agent.domain.node.HostRoutingHealth;
import agent.launcher.options.OptionValues;
import agent.node.HostRouting;
import agent.node.HostRouting.Mode;
import agent.server.metrics.MetricText;
import agent.server.socket.ConnectionCounts;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** What the API shows of the configuration, the connections and a daemon that starts. */
class ViewsTest {
  private static final ConfigurationView CONFIGURATION =
      new ConfigurationView(
          OptionValues.read(List.of("--cluster-name=blue"), Map.of()),
          Map.of("state-dir", "/var/lib/x"),
          "node-1");

  @Test
  void shouldNameTheNodeWithItsCluster() {
    assertEquals("blue", CONFIGURATION.clusterName());
    assertEquals("blue/node-1", CONFIGURATION.self());
    assertEquals(Map.of("name", "blue", "self", "blue/node-1"), CONFIGURATION.cluster());
  }

  @Test
  void shouldSayThatTheDaemonStarts() {
    final DaemonStatus status = new DaemonStatus(CONFIGURATION, "1.2.3");
    final DaemonStatusModel whole = status.status(false);
    assertEquals(new ComponentStatus("the agent is starting", "Warning"), whole.agent());
    assertNull(whole.attachMode());
    assertNull(whole.bpfMaps());
    assertNull(whole.ipam());
    assertNull(whole.cluster());
    assertNull(whole.hostRouting());
    assertNull(whole.routing());
    assertEquals("Disabled", whole.kvstore().state());
    assertEquals("the flow observer starts with the datapath", whole.flowobs().msg());
    final DaemonStatusModel brief = status.status(true);
    assertEquals(whole.agent(), brief.agent());
    assertEquals("Disabled", brief.kvstore().state());
    assertEquals(List.of(), status.health(false).modules());
    assertEquals(List.of(), status.health(true).modules());
  }

  @Test
  void shouldCountTheConnectionsAndSayWhenNewClientsWait() {
    final ApiConnectionView free =
        new ApiConnectionView(() -> new ConnectionCounts(3, 2, 8, 11, false), Optional::empty);
    assertEquals(
        """
        # HELP agent_api_connections Connections of API clients
        # TYPE agent_api_connections gauge
        agent_api_connections 3
        # HELP agent_api_connections_in_use Connections of API clients with a request in progress
        # TYPE agent_api_connections_in_use gauge
        agent_api_connections_in_use 2
        # HELP agent_api_connections_limit Maximum connections of API clients
        # TYPE agent_api_connections_limit gauge
        agent_api_connections_limit 8
        # HELP agent_api_connections_closed_idle_total Idle connections that were closed to make\
         room for a new client
        # TYPE agent_api_connections_closed_idle_total counter
        agent_api_connections_closed_idle_total 11
        """,
        MetricText.PROMETHEUS.write(free.collect()));
    assertEquals(Reading.ok("3 of 8 connections are open"), free.read());
    assertEquals(
        Reading.degraded("all 8 connections are in use: new clients wait"),
        new ApiConnectionView(() -> new ConnectionCounts(9, 7, 8, 0, true), Optional::empty)
            .read());
  }

  @Test
  void shouldBeDegradedWhileFlowsBypassWhatIsConfiguredForThem() {
    final HostRouting doubtful = new HostRouting(Mode.BPF, "flows bypass netfilter", true);
    assertEquals(
        Reading.degraded("BPF: flows bypass netfilter"),
        new HostRoutingHealth(() -> doubtful).read());
    final HostRouting legacy = new HostRouting(Mode.LEGACY, "netfilter", false);
    assertEquals(Reading.ok("Legacy: netfilter"), new HostRoutingHealth(() -> legacy).read());
  }

  @Test
  void shouldShowTheBuildAndTheLabelsOfThisAgent() {
    assertEquals(
        """
        # HELP agent_build Version and commit of the agent
        # TYPE agent_build gauge
        agent_build{commit="abc",version="1.2.3"} 1
        # HELP agent_labels Labels that identify this agent (--agent-labels)
        # TYPE agent_labels gauge
        agent_labels{label="zone=a"} 1
        agent_labels{label="b"} 1
        """,
        MetricText.PROMETHEUS.write(
            new BuildMetricSource("1.2.3", "abc", List.of("zone=a", "b")).collect()));
  }
}
