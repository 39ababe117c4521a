package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** SIGHUP has an agent read its options again. */
@KernelTest
class AgentReloadKernelTest {
  private static final long LONGEST_NS = TimeUnit.SECONDS.toNanos(10);

  private TestNode node;
  private Path file;
  private AgentProcess agent;

  @BeforeEach
  void startAgent() throws Exception {
    node = new TestNode();
    file = node.state().resolve("agent.yaml");
    Files.writeString(file, "mtu: 1400\n");
    agent = node.agent("--config=" + file);
  }

  @AfterEach
  void stop() throws Exception {
    node.close();
  }

  private void reload(String options, String logged) throws Exception {
    final int before = agent.log().length();
    Files.writeString(file, options);
    new ProcessBuilder("kill", "-HUP", Long.toString(agent.pid())).start().waitFor();
    final long endNs = System.nanoTime() + LONGEST_NS;
    while (!agent.log().substring(before).contains(logged)) {
      assertTrue(System.nanoTime() < endNs, agent.log());
      Thread.sleep(20);
    }
  }

  @Test
  void shouldTakeOverWhatCanChangeAndNameWhatCannot() throws Exception {
    reload(
        "mtu: 1300\ndebug: true\nenable-tracing: true\napi-rate-limit: {policy: 1/m}\n",
        "--mtu takes effect only after a restart of the agent");
    assertTrue(
        agent.log().contains("options reloaded: --debug, --api-rate-limit, --enable-tracing"),
        agent.log());
    agent.expect(200, "DELETE", "/policy", null);
    agent.expect(429, "DELETE", "/policy", null);
    final TestWorkload workload = node.workload(agent, "traced", "app=a");
    final String traced = "policy trace: endpoint " + workload.id() + ": identity ";
    assertTrue(agent.log().contains(traced), agent.log());
    assertTrue(agent.log().contains(" DEBUG [ep-conductor] "), agent.log());

    reload("mtu: 1400\n", "options reloaded: --debug, --api-rate-limit, --enable-tracing");
    agent.expect(200, "DELETE", "/policy", null);
    agent.expect(200, "DELETE", "/policy", null);
    final int quiet = agent.log().length();
    final TestWorkload other = node.workload(agent, "quiet", "app=b");
    assertFalse(agent.log().substring(quiet).contains("policy trace"), agent.log());
    assertFalse(agent.log().substring(quiet).contains(" DEBUG "), agent.log());
    assertTrue(other.id() > 0);
  }

  private String configured(String name) throws Exception {
    return agent
        .expect(200, "GET", "/config", null)
        .json()
        .get("status")
        .get("realized")
        .get(name)
        .toString();
  }

  /** What a client has changed since the start stays, unless the operator changes its option. */
  @Test
  void shouldTakeOverTheFirstValuesOfTheConfigurationOfClients() throws Exception {
    agent.expect(200, "PATCH", "/config", "{\"options\":{\"Conntrack\":\"Disabled\"}}");
    reload("mtu: 1400\nenable-policy: always\n", "options reloaded: --enable-policy");
    assertEquals("\"always\"", configured("policy-enforcement"));
    assertTrue(configured("options").contains("\"Conntrack\":\"Disabled\""));
    reload("mtu: 1400\n", "options reloaded: --enable-policy");
    assertEquals("\"default\"", configured("policy-enforcement"));
    assertTrue(configured("options").contains("\"Conntrack\":\"Disabled\""));
  }

  @Test
  void shouldChangeNothingWhereAnOptionIsNotValid() throws Exception {
    reload("debug: true\napi-rate-limit: {nosuch: 1}\n", "options not reloaded: --api");
    reload("debug: true\nlog-driver: [syslog]\nlog-opt: {syslog.socket: /no/such}\n", "/no/such");
    reload("debug: [", "options not reloaded: --config ");
    assertFalse(agent.log().contains(" DEBUG "), agent.log());
    assertEquals(0, agent.terminate());
  }
}
