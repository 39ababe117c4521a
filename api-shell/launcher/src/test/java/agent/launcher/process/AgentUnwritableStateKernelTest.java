package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import agent.testkit.TcpConnection;
import agent.testkit.TcpEchoServer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** A state directory that is full or read-only: what is refused is not done, and it is said. */
@KernelTest
class AgentUnwritableStateKernelTest {
  private static final int PORT = 8080;
  private static final long LONGEST_RECOVERY_NS = TimeUnit.SECONDS.toNanos(60);

  private TestNode node;
  private SmallDisk disk;
  private AgentProcess agent;
  private TestWorkload client;
  private TestWorkload server;

  @BeforeEach
  void startAgentOnASmallDisk() throws Exception {
    node = new TestNode();
    disk = SmallDisk.mount(node.state(), 256);
    node.keep(disk);
    agent = node.agent();
    client = node.workload(agent, "client", "app=client");
    server = node.workload(agent, "server", "app=server");
    node.keep(TcpEchoServer.start(server.namespace(), PORT));
    agent.expect(200, "PUT", "/policy", rule("client", "first"));
  }

  @AfterEach
  void stop() throws Exception {
    node.close();
  }

  private static String rule(String from, String name) {
    return """
    [{"endpointSelector": {"matchLabels": {"app": "server"}},
      "labels": [{"key": "name", "value": "%s"}],
      "ingress": [{"fromEndpoints": [{"matchLabels": {"app": "%s"}}]}]}]
    """
        .formatted(name, from);
  }

  private void refused(String method, String path, String body, String file, String cause)
      throws Exception {
    final String text = agent.expect(500, method, path, body).text();
    assertTrue(
        text.contains("state file " + node.state().resolve(file) + " cannot be " + cause), text);
    assertFalse(text.contains("Exception"), text);
    final JsonNode health = agent.expect(200, "GET", "/healthz", null).json().get("agent");
    assertEquals("Failure", health.get("state").asString());
    assertTrue(health.get("msg").asString().contains("cannot be written: "), health.toString());
  }

  private void assertHealthyAgain() throws Exception {
    final long deadline = System.nanoTime() + LONGEST_RECOVERY_NS;
    JsonNode health;
    do {
      Thread.sleep(100);
      health = agent.expect(200, "GET", "/healthz", null).json().get("agent");
    } while (!health.get("state").asString().equals("Ok") && System.nanoTime() < deadline);
    assertEquals("Ok", health.get("state").asString(), health.toString());
  }

  private void assertReached(boolean isReached) {
    assertEquals(
        isReached ? TcpConnection.Outcome.CONNECTED : TcpConnection.Outcome.UNANSWERED,
        TcpConnection.attempt(client.namespace(), server.ipv4(), PORT, isReached ? 5000 : 400));
  }

  private Set<String> files() throws IOException {
    try (Stream<Path> files = Files.walk(node.state())) {
      return new TreeSet<>(
          files
              .filter(Files::isRegularFile)
              .map(file -> node.state().relativize(file).toString())
              .filter(file -> !file.equals(SmallDisk.FILLER))
              .toList());
    }
  }

  private void assertEveryChangeRefused(String cause) throws Exception {
    final Set<String> files = files();
    final JsonNode rules = agent.expect(200, "GET", "/policy", null).json();
    refused("PUT", "/policy", rule("absent", "first"), "policy/rules.json", cause);
    refused("PUT", "/policy", rule("absent", "second"), "policy/rules.json", cause);
    refused("DELETE", "/policy", null, "policy/rules.json", cause);
    refused("POST", "/ipam", null, "ipam/leases.json", cause);
    refused("POST", "/ipam/10.210.0.77", null, "ipam/leases.json", cause);
    refused(
        "PATCH",
        "/endpoint/" + client.id() + "/labels",
        "{\"user\": [\"role=x\"]}",
        "endpoints/" + client.id() + ".json",
        cause);
    assertEquals(rules, agent.expect(200, "GET", "/policy", null).json());
    assertEquals(files, files());
    assertReached(true);
  }

  private void assertAsBeforeAfterARestart() throws Exception {
    final JsonNode rules = agent.expect(200, "GET", "/policy", null).json();
    agent.kill();
    agent = node.agent();
    assertEquals(rules, agent.expect(200, "GET", "/policy", null).json());
    assertReached(true);
    assertEquals(
        List.of(),
        agent
            .expect(200, "GET", "/endpoint/" + client.id(), null)
            .json()
            .at("/spec/label-configuration/user")
            .valueStream()
            .toList());
    agent.expect(200, "POST", "/ipam/10.210.0.77", null);
  }

  @Test
  void shouldRefuseChangesOnAFullDiskForGood() throws Exception {
    disk.fill();
    assertEveryChangeRefused("written: no space left on device");
    disk.free();
    assertHealthyAgain();
    assertAsBeforeAfterARestart();
    agent.expect(200, "PUT", "/policy?replace=true", rule("absent", "first"));
    assertReached(false);
  }

  /** An agent that is killed meanwhile finds the full disk at its start. */
  @Test
  void shouldRestoreEverythingOnAFullDisk() throws Exception {
    disk.fill();
    refused(
        "PUT",
        "/policy",
        rule("absent", "first"),
        "policy/rules.json",
        "written: no space left on device");
    Files.writeString(node.state().resolve("endpoints/9.json.new"), "");
    agent.kill();
    agent = node.agent();
    assertReached(true);
    assertFalse(Files.exists(node.state().resolve("endpoints/9.json.new")));
    refused("POST", "/ipam", null, "ipam/leases.json", "written: no space left on device");
    disk.free();
    assertHealthyAgain();
  }

  @Test
  void shouldRefuseChangesOfAReadOnlyFileSystemForGood() throws Exception {
    disk.readOnly();
    assertEveryChangeRefused("written: read-only file system");
    disk.writable();
    assertHealthyAgain();
    assertAsBeforeAfterARestart();
  }
}
