package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.Commands;
import agent.testkit.KernelTest;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** What the API says of a workload that comes and goes: each change within ten seconds. */
@KernelTest
class AgentReachabilityKernelTest {
  private static final Duration DEADLINE = Duration.ofSeconds(10);

  private TestNode node;
  private AgentProcess agent;
  private TestWorkload workload;

  @BeforeEach
  void startAgent() throws Exception {
    node = new TestNode();
    agent = node.agent();
    workload = node.workload(agent, "guest", "app=guest");
    awaitHealth(true, "OK", "OK");
  }

  @AfterEach
  void stop() throws Exception {
    node.close();
  }

  private void await(String path, Predicate<JsonNode> wanted) throws Exception {
    final long startNs = System.nanoTime();
    while (true) {
      final JsonNode answer = agent.expect(200, "GET", path, null).json();
      if (wanted.test(answer)) {
        return;
      }
      assertTrue(System.nanoTime() - startNs < DEADLINE.toNanos(), answer + "\n" + agent.log());
      LockSupport.parkNanos(Duration.ofMillis(20).toNanos());
    }
  }

  private void awaitHealth(boolean connected, String bpf, String overall) throws Exception {
    await(
        "/endpoint/" + workload.id() + "/healthz",
        health ->
            health.get("connected").asBoolean() == connected
                && health.get("bpf").asString().equals(bpf)
                && health.get("overallHealth").asString().equals(overall));
  }

  private void awaitStatus(String state, String message) throws Exception {
    await(
        "/healthz",
        status ->
            status.at("/agent/state").asString().equals(state)
                && status.at("/agent/msg").asString("").contains(message));
  }

  /** Adds what the kernel has removed with the interface or an address. */
  private void configure() {
    final String gateway4 = "10.210.0.1";
    workload.namespace().ip("address replace " + workload.ipv4() + "/32 dev eth0");
    workload.namespace().ip("route replace " + gateway4 + " dev eth0");
    workload.namespace().ip("route replace default via " + gateway4 + " dev eth0");
    workload.namespace().ip("-6 address replace " + workload.ipv6() + "/128 dev eth0 nodad");
  }

  @Test
  void shouldFollowTheAddressOfTheWorkload() throws Exception {
    workload.namespace().ip("address delete " + workload.ipv4() + "/32 dev eth0");
    awaitHealth(false, "OK", "Warning");
    awaitStatus("Warning", "the workload has not answered probes of " + workload.ipv4());
    configure();
    awaitHealth(true, "OK", "OK");
    awaitStatus("Ok", "");
  }

  @Test
  void shouldFollowEachSideOfTheVeth() throws Exception {
    workload.namespace().ip("link set eth0 down");
    awaitHealth(false, "Warning", "Warning");
    workload.namespace().ip("link set eth0 up");
    configure();
    awaitHealth(true, "OK", "OK");
    node.namespace().ip("link set wl-guest down");
    awaitHealth(false, "Failure", "Failure");
    node.namespace().ip("link set wl-guest up");
    configure();
    awaitHealth(true, "OK", "OK");
    workload.veth().delete();
    awaitHealth(false, "Failure", "Failure");
  }

  /** With the namespace the kernel removes the veth pair. */
  @Test
  void shouldCloseAWorkloadWhoseNamespaceIsGone() throws Exception {
    final String name = workload.namespace().name();
    Commands.run("ip", "netns", "delete", name);
    node.keep(() -> Commands.run("ip", "netns", "add", name)); // as the node's end expects it
    awaitHealth(false, "Failure", "Failure");
    awaitStatus("Failure", "endpoint " + workload.id() + ": interface 'wl-guest' is gone");
    await("/map/endpoints", map -> !map.get("cache").toString().contains(workload.ipv4()));
    assertFalse(node.namespace().exec("ip", "route").contains(workload.ipv4()));
    agent.kill();
    agent = node.agent();
    agent.expect(404, "GET", "/endpoint/" + workload.id(), null);
    assertFalse(node.namespace().exec("ip", "route").contains(workload.ipv4()));
    assertTrue(agent.log().contains("interface 'wl-guest' with index "), agent.log());
    awaitStatus("Ok", "");
  }

  /** The next run asks again, and finds out by itself. */
  @Test
  void shouldSayAfterARestartWhatIsSoThen() throws Exception {
    agent.terminate();
    workload.namespace().ip("address delete " + workload.ipv4() + "/32 dev eth0");
    workload.namespace().ip("-6 address delete " + workload.ipv6() + "/128 dev eth0");
    agent = node.agent();
    awaitHealth(false, "OK", "Warning");
    configure();
    awaitHealth(true, "OK", "OK");
  }
}
