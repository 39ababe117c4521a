package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** Every part that the daemon connects is there: its metrics, tasks, duty cycles and files. */
@KernelTest
class AgentWiringKernelTest {
  /** A metric of each part that has some. */
  private static final List<String> METRICS =
      List.of(
          "agent_api_connections",
          "agent_build",
          "agent_conntrack_entries",
          "agent_duty_cycle_stall_limit_seconds",
          "agent_ipam_leases",
          "agent_process_threads",
          "agent_proxy_ports",
          "agent_repairs_total",
          "agent_services");

  private static final Map<String, String> CONTROLLERS =
      Map.of(
          "host-routing-watch", "2.0s",
          "masquerade-rules", "1.0s",
          "node-inventory", "5.0s",
          "state-write-retry", "1.0s",
          "system-load", "60.0s");

  /** The seconds after which a thread that does not come back is a fault. */
  private static final Map<String, Double> STALL_LIMITS =
      Map.of(
          "dp-conductor", 1.0,
          "dp-conntrack-gc", 5.0,
          "dp-events", 5.0,
          "dp-loader", 60.0,
          "dp-mirror", 60.0,
          "dp-sockets", 30.0,
          "ep-conductor", 2.0,
          "names", 2.0,
          "store", 2.0);

  private static TestNode node;
  private static AgentProcess agent;

  @BeforeAll
  static void startAgent() throws Exception {
    node = new TestNode();
    agent = node.agent();
    node.workload(agent, "owned", "app=a");
  }

  @AfterAll
  static void stop() throws Exception {
    if (node != null) {
      node.close();
    }
  }

  @Test
  void shouldServeTheMetricsOfEveryPart() throws Exception {
    final Set<String> names = new TreeSet<>();
    for (final JsonNode metric : agent.expect(200, "GET", "/metrics/", null).json()) {
      names.add(metric.get("name").asString());
    }
    assertTrue(names.containsAll(METRICS), names.toString());
  }

  @Test
  void shouldNameItsVersionInItsMetrics() throws Exception {
    final List<String> versions = new ArrayList<>();
    for (final JsonNode metric : agent.expect(200, "GET", "/metrics/", null).json()) {
      if (metric.get("name").asString().equals("agent_build")) {
        versions.add(metric.at("/labels/version").asString());
      }
    }
    final JsonNode health = agent.expect(200, "GET", "/healthz", null).json();
    assertEquals(List.of(health.get("agent-version").asString()), versions);
  }

  @Test
  void shouldLimitTheDutyCycleOfEachThreadByItsWork() throws Exception {
    final Map<String, Double> limits = new TreeMap<>();
    for (final JsonNode metric : agent.expect(200, "GET", "/metrics/", null).json()) {
      if (metric.get("name").asString().equals("agent_duty_cycle_stall_limit_seconds")) {
        limits.put(metric.at("/labels/agent").asString(), metric.get("value").asDouble());
      }
    }
    assertEquals(new TreeMap<>(STALL_LIMITS), limits);
  }

  @Test
  void shouldRunEveryPeriodicTaskAtItsInterval() throws Exception {
    final Map<String, String> intervals = new TreeMap<>();
    controllers()
        .forEach(
            (name, controller) ->
                intervals.put(name, controller.at("/configuration/interval").asString()));
    assertNotNull(intervals.remove("conntrack-gc"), "its interval is that of the flows");
    assertEquals(new TreeMap<>(CONTROLLERS), intervals);
    final long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    for (final String name : CONTROLLERS.keySet()) {
      while (!CONTROLLERS.get(name).equals("60.0s") && runs(name) < 2) {
        assertTrue(System.nanoTime() < deadline, name + " does not run");
        Thread.sleep(100);
      }
    }
  }

  private static Map<String, JsonNode> controllers() throws Exception {
    final Map<String, JsonNode> controllers = new TreeMap<>();
    for (final JsonNode each :
        agent.expect(200, "GET", "/healthz", null).json().get("controllers")) {
      controllers.put(each.get("name").asString(), each);
    }
    return controllers;
  }

  private static long runs(String name) throws Exception {
    final JsonNode status = controllers().get(name).get("status");
    assertEquals(0, status.path("failure-count").asLong(), name + ": " + status);
    return status.get("success-count").asLong();
  }

  /** The group of the socket enters the folder; what is in it is for root alone. */
  @Test
  void shouldOpenTheFolderOfTheSocketAndNoStateFile() throws Exception {
    assertEquals("rwxr-xr-x", permissions(node.state()));
    try (var files = Files.newDirectoryStream(node.state(), "*.json")) {
      for (final Path file : files) {
        assertEquals("rw-------", permissions(file), file.toString());
      }
    }
  }

  private static String permissions(Path path) throws Exception {
    return PosixFilePermissions.toString(Files.getPosixFilePermissions(path));
  }
}
