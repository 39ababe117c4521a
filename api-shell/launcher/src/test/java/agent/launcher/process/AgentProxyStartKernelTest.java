package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A proxy that cannot start: the rule that asks for it is refused with the option, not dropped. */
@KernelTest
class AgentProxyStartKernelTest {
  private static final String RULE =
      """
      [{"labels": [{"key": "name", "value": "requests"}],
        "endpointSelector": {"matchLabels": {"app": "server"}}, "ingress": [{"toPorts": [
          {"ports": [{"port": "8080", "protocol": "TCP"}], "rules": {"http": [{}]}}]}]}]
      """;

  @TempDir private Path folder;
  private TestNode node;

  @BeforeEach
  void open() throws Exception {
    node = new TestNode();
  }

  @AfterEach
  void close() throws Exception {
    node.close();
  }

  @Test
  void shouldRefuseARuleOfRequestsWhileItsProxyCannotStartAndTakeItLater() throws Exception {
    final Path logs = Files.createDirectory(folder.resolve("logs"));
    final Path log = logs.resolve("access.log");
    final AgentProcess agent = node.agent("--access-log=" + log);
    node.workload(agent, "server", "app=server");
    assertFalse(Files.exists(log), "no rule asks for the proxy yet");
    Files.delete(logs);
    final String before = agent.expect(200, "GET", "/policy", null).json().get("policy").asString();
    final ApiCall.Answer refused = agent.expect(500, "PUT", "/policy", RULE);
    assertTrue(
        refused.text().contains("the HTTP proxy is not running: --access-log: " + log),
        refused.text());
    assertEquals(before, agent.expect(200, "GET", "/policy", null).json().get("policy").asString());
    final String health = agent.expect(200, "GET", "/healthz", null).text();
    assertTrue(health.contains("--access-log: " + log), health);
    Files.createDirectory(logs);
    for (int i = 0; i < 200 && !Files.exists(log); i++) {
      Thread.sleep(50);
    }
    assertTrue(Files.exists(log), "the proxy is tried again");
    agent.expect(200, "PUT", "/policy", RULE);
    assertEquals(
        "Ok", agent.expect(200, "GET", "/healthz", null).json().at("/agent/state").asString());
  }
}
