package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Endpoints of another source at the API: shown, and neither changed nor deleted. */
@KernelTest
class AgentEndpointSourcesKernelTest {
  private TestNode node;
  private AgentProcess agent;

  @BeforeEach
  void startAgent() throws Exception {
    node = new TestNode();
    agent = node.agent();
  }

  @AfterEach
  void stop() throws Exception {
    node.close();
  }

  /** Writes another source into the record of a stored endpoint, which is the API's. */
  private void giveTo(String source, TestWorkload workload) throws IOException {
    final Path file = node.state().resolve("endpoints/" + workload.id() + ".json");
    final String document = StateFiles.document(Files.readAllBytes(file));
    assertTrue(document.endsWith("}") && !document.contains("\"source\""), document);
    Files.write(
        file,
        StateFiles.whole(
            1,
            "endpoint",
            document.substring(0, document.length() - 1) + ",\"source\":\"" + source + "\"}"));
  }

  private String sourceOf(TestWorkload workload) throws IOException {
    return agent
        .expect(200, "GET", "/endpoint/" + workload.id(), null)
        .json()
        .get("source")
        .asString();
  }

  private void assertConflict(String field, String owner, String call, String path, String body)
      throws IOException {
    assertEquals(
        field + ": " + owner + " belongs to source 'runtime:docker'",
        agent.expect(409, call, path, body).json().asString());
  }

  @Test
  void shouldRefuseToChangeAndDeleteAnEndpointOfAnotherSource() throws Exception {
    final TestWorkload own = node.workload(agent, "own", "app=own");
    final TestWorkload foreign = node.workload(agent, "foreign", "app=foreign");
    agent.kill();
    giveTo("runtime:docker", foreign);
    agent = node.agent();
    assertEquals("api", sourceOf(own));
    assertEquals("runtime:docker", sourceOf(foreign));

    final String path = "/endpoint/" + foreign.id();
    final String owner = "endpoint " + foreign.id();
    final String before = agent.expect(200, "GET", path + "/log", null).text();
    assertConflict("id", owner, "PATCH", path, "{\"state\": \"ready\", \"labels\": [\"app=x\"]}");
    assertConflict("id", owner, "PATCH", path + "/labels", "{\"user\": [\"x=y\"]}");
    assertConflict(
        "id", owner, "PATCH", path + "/config", "{\"options\": {\"Debug\": \"Enabled\"}}");
    assertConflict("id", owner, "DELETE", path, null);
    assertConflict(
        "container-id",
        owner,
        "DELETE",
        "/endpoint",
        "{\"container-id\": \"" + foreign.namespace().name() + "\"}");
    assertEquals(
        "id: " + owner + " of source 'runtime:docker' already exists",
        agent.expect(409, "PUT", path, own.request()).json().asString());
    assertEquals(before, agent.expect(200, "GET", path + "/log", null).text(), "nothing changed");

    agent.expect(200, "PATCH", "/endpoint/" + own.id() + "/labels", "{\"user\": [\"x=y\"]}");
    agent.expect(200, "PATCH", "/config", "{\"options\": {\"Debug\": \"Enabled\"}}");
    assertEquals(
        "Enabled",
        agent.expect(200, "GET", path, null).json().at("/spec/options/Debug").asString(),
        "options of the node are set on every endpoint");
    agent.kill();
    agent = node.agent();
    assertEquals("runtime:docker", sourceOf(foreign));
    agent.expect(200, "DELETE", "/endpoint/" + own.id(), null);
    assertConflict("id", owner, "DELETE", path, null);
  }
}
