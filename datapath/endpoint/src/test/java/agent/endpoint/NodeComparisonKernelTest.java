package agent.endpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.conductor.Repairs;
import agent.endpoint.state.EndpointHealth.HealthLevel;
import agent.testkit.KernelTest;
import agent.testkit.Workload;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Other programs change the node, and the agent receives no event of it. */
@KernelTest
class NodeComparisonKernelTest {
  private static String state(KernelRig agent) {
    return agent.namespace().exec("ip", "route", "show")
        + agent.namespace().exec("ip", "-6", "route", "show", "proto", "169")
        + agent.namespace().exec("ip", "-o", "neigh", "show", "nud", "permanent")
        + agent.namespace().exec("ip", "-o", "address", "show", "dev", "lo")
        + parameter(agent, "ipv4/ip_forward")
        + parameter(agent, "ipv6/conf/all/forwarding")
        + parameter(agent, "ipv4/conf/lxcep11/forwarding")
        + parameter(agent, "ipv4/conf/lxcep11/rp_filter");
  }

  private static String parameter(KernelRig agent, String name) {
    return name + " " + agent.namespace().exec("cat", "/proc/sys/net/" + name);
  }

  private static void setParameter(KernelRig agent, String name, String value) throws Exception {
    agent.namespace().run(() -> Files.writeString(Path.of("/proc/sys/net/" + name), value));
  }

  @Test
  void shouldFindAndRepairDifferencesWithoutEvents() throws Exception {
    try (KernelRig agent = new KernelRig(Duration.ofMillis(200), false)) {
      final Workload web = agent.workload(11);
      agent.create(11, web, "app=web");
      agent.settle();
      final String before = state(agent);
      agent
          .namespace()
          .ip(
              "address del 10.1.0.1/32 dev lo",
              "address del f00d::a01:1:0:1/128 dev lo",
              "route del " + web.ipv6() + "/128",
              "neigh replace " + web.ipv4() + " lladdr 02:00:00:00:00:99 dev lxcep11");
      setParameter(agent, "ipv4/ip_forward", "0"); // that of each interface, too
      agent.await("repair", () -> state(agent).equals(before));
      final long forwarding = agent.repaired(Repairs.Kind.SYSCTL);
      assertTrue(forwarding >= 1 && forwarding <= 2, "by itself, or after that of the interface");
      setParameter(agent, "ipv6/conf/all/forwarding", "0");
      setParameter(agent, "ipv4/conf/lxcep11/rp_filter", "1");
      agent.await("repair", () -> state(agent).equals(before));
      setParameter(agent, "ipv4/conf/lxcep11/forwarding", "0");
      agent.await("repair", () -> state(agent).equals(before));
      assertEquals(forwarding + 3, agent.repaired(Repairs.Kind.SYSCTL));
      assertEquals(2, agent.repaired(Repairs.Kind.ADDRESS));
      assertTrue(agent.repaired(Repairs.Kind.ROUTE) >= 3);
      agent.namespace().ip("link set lxcep11 down");
      agent.awaitHealth(11, HealthLevel.FAILURE, "is down");
      agent.namespace().ip("link set lxcep11 up");
      agent.await("repair", () -> state(agent).equals(before));
      agent.namespace().ip("link delete lxcep11");
      agent.awaitHealth(11, HealthLevel.FAILURE, "is gone");
      agent.await(
          "empty entry", () -> agent.now(agent.datapath().endpoints().entryOf(11)).ifindex() == 0);
    }
  }

  @Test
  void shouldCompareEverythingAfterLostEvents() throws Exception {
    try (KernelRig agent = new KernelRig(Duration.ofHours(1), true)) {
      final Workload web = agent.workload(11);
      agent.create(11, web, "app=web");
      agent.settle();
      final String before = state(agent);
      final List<String> commands = new ArrayList<>();
      for (int i = 0; i < 30_000; i++) {
        commands.add("route add 10.100.%d.%d/32 dev lo".formatted(i / 250, i % 250));
      }
      commands.add("route flush root 10.100.0.0/16");
      commands.add("route del " + web.ipv4() + "/32");
      agent.namespace().ip(commands.toArray(String[]::new));
      agent.await("repair", () -> state(agent).equals(before));
    }
  }
}
