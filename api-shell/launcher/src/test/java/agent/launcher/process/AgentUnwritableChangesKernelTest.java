package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** Changes of each kind on a state directory that is full or read-only, and after a restart. */
@KernelTest
class AgentUnwritableChangesKernelTest {
  private static final long DEADLINE_NS = Duration.ofSeconds(60).toNanos();
  private static final int NEW_ID = 4711;
  private static final String[] OPTIONS = {
    "--prefilter-device", "ext0", "--prefilter-mode", "generic"
  };

  private TestNode node;
  private SmallDisk disk;
  private AgentProcess agent;
  private TestWorkload kept;
  private TestWorkload plumbed;

  @BeforeEach
  void startAgentOnASmallDisk() throws Exception {
    node = new TestNode();
    disk = SmallDisk.mount(node.state(), 512);
    node.keep(disk);
    node.namespace().ip("link add ext0 type veth peer name ext1");
    node.namespace().ip("link set ext0 up");
    node.namespace().ip("link set ext1 up");
    agent = node.agent(OPTIONS);
    kept = node.workload(agent, "kept", "app=kept");
    plumbed = node.plumbed(agent, "plumbed", "app=plumbed");
    agent.expect(200, "PATCH", "/prefilter", "{\"deny\": [\"192.0.2.0/24\"]}");
    agent.expect(201, "PUT", "/service/1", service("10.96.0.1"));
  }

  @AfterEach
  void stop() throws Exception {
    node.close();
  }

  private static String service(String address) {
    return """
    {"frontend-address": {"ip": "%s", "port": 80, "protocol": "TCP"},
     "backend-addresses": [{"ip": "192.0.2.9", "port": 8080, "protocol": "TCP"}]}
    """
        .formatted(address);
  }

  private void refused(String method, String path, String body, String file, String cause)
      throws Exception {
    final String text = agent.expect(500, method, path, body).text();
    final String start = "state file " + node.state().resolve(file);
    assertTrue(text.contains(start) && text.contains(": " + cause), method + path + text);
    assertFalse(text.matches("(?s).*(Exception|Error\\b|java\\.).*"), text);
    final JsonNode health = agent.expect(200, "GET", "/healthz", null).json().get("agent");
    assertEquals("Failure", health.get("state").asString(), health.toString());
    assertTrue(health.get("msg").asString().contains(": " + cause), health.toString());
  }

  private String shown() throws Exception {
    final StringBuilder all = new StringBuilder();
    all.append(agent.expect(200, "GET", "/prefilter", null).json().get("spec"));
    all.append('\n').append(agent.expect(200, "GET", "/service", null).json());
    all.append('\n').append(agent.expect(200, "GET", "/config", null).json().get("spec"));
    for (final JsonNode endpoint : agent.expect(200, "GET", "/endpoint", null).json()) {
      all.append('\n').append(endpoint.get("id")).append(endpoint.get("spec"));
      all.append(endpoint.at("/status/labels")).append(endpoint.at("/status/external-identifiers"));
    }
    return all.toString();
  }

  private void assertEveryChangeRefused(String cause) throws Exception {
    final String before = shown();
    final String endpoint = "endpoints/" + kept.id() + ".json";
    final String path = "/endpoint/" + kept.id();
    refused(
        "PUT", "/endpoint/" + NEW_ID, plumbed.request(), "endpoints/" + NEW_ID + ".json", cause);
    refused(
        "PATCH", path, "{\"state\": \"ready\", \"container-name\": \"other\"}", endpoint, cause);
    refused(
        "PATCH",
        path + "/config",
        "{\"options\": {\"DropNotification\": \"Disabled\"}}",
        endpoint,
        cause);
    refused(
        "PATCH",
        "/config",
        "{\"options\": {\"Debug\": \"Enabled\"}}",
        "configuration/daemon.json",
        cause);
    refused(
        "PATCH", "/prefilter", "{\"deny\": [\"198.51.100.0/24\"]}", "prefilter/list.json", cause);
    refused("DELETE", "/prefilter", "{\"deny\": [\"192.0.2.0/24\"]}", "prefilter/list.json", cause);
    refused("PUT", "/service/1", service("10.96.0.3"), "services/1.json", cause);
    refused("PUT", "/service/2", service("10.96.0.2"), "services/2.json", cause);
    assertEquals(before, shown());
  }

  private void awaitHealthy() throws Exception {
    final long startNs = System.nanoTime();
    JsonNode health;
    do {
      LockSupport.parkNanos(Duration.ofMillis(50).toNanos());
      health = agent.expect(200, "GET", "/healthz", null).json().get("agent");
    } while (!health.get("state").asString().equals("Ok")
        && System.nanoTime() - startNs < DEADLINE_NS);
    assertEquals("Ok", health.get("state").asString(), health.toString());
  }

  private void assertNothingOfTheRefused(String before) throws Exception {
    assertEquals(before, shown());
    agent.expect(404, "GET", "/endpoint/" + NEW_ID, null);
    assertFalse(Files.exists(pins(NEW_ID)));
    assertFalse(routes().contains(plumbed.ipv4()), routes());
    agent.expect(201, "PUT", "/endpoint/" + NEW_ID, plumbed.request());
  }

  private Path pins(int id) {
    return node.bpfRoot().resolve("agent/endpoints/" + id);
  }

  private String routes() {
    return node.namespace().exec("ip", "route", "show");
  }

  @Test
  void shouldRefuseEachChangeOnAFullDiskForGood() throws Exception {
    final String before = shown();
    disk.fill();
    assertEveryChangeRefused("no space left on device");
    disk.free();
    awaitHealthy();
    agent.kill();
    agent = node.agent(OPTIONS);
    assertNothingOfTheRefused(before);
  }

  @Test
  void shouldRefuseEachChangeOnAReadOnlyDiskForGood() throws Exception {
    final String before = shown();
    disk.readOnly();
    assertEveryChangeRefused("read-only file system");
    refused("DELETE", "/service/1", null, "services", "read-only file system");
    assertEquals(before, shown());
    agent.kill();
    disk.writable();
    agent = node.agent(OPTIONS);
    awaitHealthy();
    assertNothingOfTheRefused(before);
  }

  /** The record stays on the disk, and the kernel remembers that it is removed. */
  @Test
  void shouldFinishARemovalThatAReadOnlyDiskInterruptedAfterARestart() throws Exception {
    final String path = "/endpoint/" + kept.id();
    final Path record = node.state().resolve("endpoints/" + kept.id() + ".json");
    disk.readOnly();
    final JsonNode errors = agent.expect(202, "DELETE", path, null).json();
    assertTrue(errors.get(0).asString().contains("read-only file system"), errors.toString());
    assertFalse(errors.toString().contains("Exception"), errors.toString());
    assertRemoved();
    agent.kill();
    assertEquals(1, node.launch(OPTIONS).exitCode(), "no run begins on a read-only disk");
    assertRemoved();
    disk.writable();
    assertTrue(Files.exists(record));
    agent = node.agent(OPTIONS);
    awaitGone(path, record);
    awaitHealthy();
    agent.kill();
    agent = node.agent(OPTIONS);
    agent.expect(404, "GET", path, null);
    assertRemoved();
    agent.expect(200, "POST", "/ipam/" + kept.ipv4(), null);
  }

  /** A removal is repeated by the run that it began in, too. */
  @Test
  void shouldFinishARemovalThatAReadOnlyDiskInterruptedOnceItIsWritable() throws Exception {
    final String path = "/endpoint/" + kept.id();
    disk.readOnly();
    agent.expect(202, "DELETE", path, null);
    assertEquals(
        "disconnecting",
        agent.expect(200, "GET", path, null).json().at("/status/state").asString());
    disk.writable();
    awaitGone(path, node.state().resolve("endpoints/" + kept.id() + ".json"));
    awaitHealthy();
    assertRemoved();
  }

  private void awaitGone(String path, Path record) throws Exception {
    final long startNs = System.nanoTime();
    while (Files.exists(record) || agent.call("GET", path, null).status() != 404) {
      assertTrue(System.nanoTime() - startNs < DEADLINE_NS, agent.log());
      LockSupport.parkNanos(Duration.ofMillis(50).toNanos());
    }
  }

  private void assertRemoved() {
    assertFalse(Files.exists(pins(kept.id()).resolve("from_endpoint")));
    assertFalse(Files.exists(pins(kept.id()).resolve("to_endpoint")));
    assertFalse(routes().contains(kept.ipv4()), routes());
    final String link =
        node.namespace().exec("ip", "-o", "link", "show", kept.veth().hostInterface());
    assertTrue(link.contains("state DOWN"), link);
  }
}
