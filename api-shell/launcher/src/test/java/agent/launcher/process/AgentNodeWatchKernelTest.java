package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.BestTime;
import agent.testkit.KernelTest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** What other programs do to the node is in the health that the API reports, until it ends. */
@KernelTest
class AgentNodeWatchKernelTest {
  private static final long DEADLINE_NS = Duration.ofSeconds(60).toNanos();

  private TestNode node;
  private AgentProcess agent;
  private TestWorkload workload;

  @BeforeEach
  void startAgent() throws Exception {
    node = new TestNode();
    node.namespace().ip("link add ext0 type veth peer name ext1");
    node.namespace().ip("link set ext0 up");
    node.namespace().ip("link set ext1 up");
    agent = node.agent("--device", "ext0");
    workload = node.workload(agent, "guest", "app=guest");
    awaitStatus("Ok", "");
  }

  @AfterEach
  void stop() throws Exception {
    node.close();
  }

  private void awaitStatus(String state, String message) throws Exception {
    final long startNs = System.nanoTime();
    while (true) {
      final JsonNode status = agent.expect(200, "GET", "/healthz", null).json().get("agent");
      if (status.get("state").asString().equals(state)
          && status.path("msg").asString("").contains(message)) {
        return;
      }
      assertTrue(System.nanoTime() - startNs < DEADLINE_NS, status + "\n" + agent.log());
      LockSupport.parkNanos(Duration.ofMillis(10).toNanos());
    }
  }

  @Test
  void shouldReportAnEndpointWhoseInterfaceIsGoneUntilItIsDeleted() throws Exception {
    workload.veth().delete();
    final String reason = "endpoint " + workload.id() + ": interface 'wl-guest' is gone";
    awaitStatus("Failure", "endpoints: " + reason);
    final JsonNode health =
        agent.expect(200, "GET", "/endpoint/" + workload.id() + "/healthz", null).json();
    assertEquals("Failure", health.get("overallHealth").asString());
    assertEquals("Failure", health.get("bpf").asString());
    assertEquals(false, health.get("connected").asBoolean());
    final JsonNode entry =
        agent.expect(200, "GET", "/endpoint/" + workload.id() + "/log", null).json().get(0);
    assertEquals("Failure", entry.get("code").asString());
    assertTrue(entry.get("message").asString().contains("'wl-guest' is gone"));
    assertTrue(agent.expect(200, "GET", "/health", null).text().contains(reason));
    agent.expect(200, "DELETE", "/endpoint/" + workload.id(), null);
    awaitStatus("Ok", "");
  }

  @Test
  void shouldGuardDevicesAsTheyComeAndWarnWhereNoneIsGuarded() throws Exception {
    agent.terminate();
    node.namespace().ip("address add 192.0.2.1/24 dev ext0");
    agent = node.agent("--device", "up+,!ext0");
    awaitStatus("Warning", "node: no device program attached: --device selects none of [ext0]");
    node.namespace().ip("link add up0 type veth peer name up1");
    awaitStatus("Ok", "");
    final long startNs = System.nanoTime();
    while (!Files.exists(node.bpfRoot().resolve("agent/devices/up0/from_network"))
        && !agent.log().contains(": device program attached")) {
      assertTrue(System.nanoTime() - startNs < DEADLINE_NS, agent.log());
      LockSupport.parkNanos(Duration.ofMillis(10).toNanos());
    }
    node.namespace().ip("link del up0");
    awaitStatus("Warning", "no device program attached");
  }

  private void localPorts(String range) throws Exception {
    final Path sysctl = Path.of("/proc/sys/net/ipv4/ip_local_port_range");
    node.namespace().run(() -> Files.writeString(sysctl, range));
  }

  @Test
  void shouldReportThatTheNodeHasOtherPortsThanMasqueradingLeavesIt() throws Exception {
    localPorts("10000 20000");
    awaitStatus(
        "Warning",
        "masquerading: net.ipv4.ip_local_port_range was changed: masquerading reserves ports"
            + " 32768 to 60999 for sockets of the node, which now use 10000 to 20000");
    localPorts("32768 60999");
    awaitStatus("Ok", "");
  }

  @Test
  void shouldReportADeviceOfTheNodeThatIsDown() throws Exception {
    node.namespace().ip("link set ext0 down");
    awaitStatus("Failure", "node: interface 'ext0' is down");
    node.namespace().ip("link set ext0 up");
    awaitStatus("Ok", "");
  }

  @Test
  void shouldReportAWorkloadWithoutACarrierAsAWarning() throws Exception {
    workload.namespace().exec("ip", "link", "set", "eth0", "down");
    awaitStatus("Warning", "the workload's side of interface 'wl-guest' is down");
  }

  @Test
  void shouldLogOnceWhatItRepaired() throws Exception {
    node.namespace().ip("address del 10.210.0.1/32 dev lo");
    final long startNs = System.nanoTime();
    while (!node.namespace().exec("ip", "address", "show", "dev", "lo").contains("10.210.0.1/32")) {
      assertTrue(System.nanoTime() - startNs < DEADLINE_NS, agent.log());
      LockSupport.parkNanos(Duration.ofMillis(10).toNanos());
    }
    awaitStatus("Ok", "");
    while (repairsLogged() == 0) { // it is logged after it is done
      assertTrue(System.nanoTime() - startNs < DEADLINE_NS, agent.log());
      LockSupport.parkNanos(Duration.ofMillis(10).toNanos());
    }
    assertEquals(1, repairsLogged());
  }

  @Test
  void shouldAddRoutesAndGatewaysAgainWithinASecond() throws Exception {
    for (final String removed :
        List.of(
            "route del " + workload.ipv4() + "/32",
            "-6 route del " + workload.ipv6() + "/128",
            "address del 10.210.0.1/32 dev lo")) {
      final String before = networking();
      BestTime.assertWithin(
          Duration.ofSeconds(1),
          removed,
          () -> {
            final long startNs = System.nanoTime();
            node.namespace().ip(removed);
            while (!networking().equals(before)) {
              assertTrue(System.nanoTime() - startNs < DEADLINE_NS, removed + "\n" + agent.log());
            }
            return Duration.ofNanos(System.nanoTime() - startNs);
          });
    }
  }

  private String networking() {
    return node.namespace().exec("ip", "route", "show")
        + node.namespace().exec("ip", "-6", "route", "show", "proto", "169")
        + node.namespace().exec("ip", "-o", "-4", "address", "show", "dev", "lo");
  }

  private long repairsLogged() throws IOException {
    return agent
        .log()
        .lines()
        .filter(line -> line.contains("missing gateway addresses [10.210.0.1] added again"))
        .count();
  }
}
