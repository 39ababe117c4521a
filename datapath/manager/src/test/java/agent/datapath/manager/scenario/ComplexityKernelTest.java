package agent.datapath.manager.scenario;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import agent.maps.layout.BalancerConfigFlyweight;
import agent.testkit.KernelTest;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/**
 * The number of verified instructions of each program stays within its recorded budget, since the
 * verifier dominates the load time.
 */
@KernelTest
class ComplexityKernelTest {
  private static final String BUDGETS = "/bpf/src/tests/complexity.budget";

  @Test
  void shouldStayWithinTheBudgetOfEachProgram() throws IOException {
    final TreeMap<String, Integer> found = new TreeMap<>();
    try (ScenarioNode node = new ScenarioNode().nat46()) {
      for (final String program : List.of("from_endpoint", "to_endpoint")) {
        found.put(program + ".nat46", node.verifiedInstructions(ScenarioHost.ALICE, program));
      }
      found.put("from_network.nat46", node.verifiedInstructions(ScenarioHost.HOST, "from_network"));
    }
    try (ScenarioNode node = new ScenarioNode()) {
      for (final String program :
          List.of("from_endpoint", "to_endpoint", "nat46_from_endpoint", "nat46_to_endpoint")) {
        found.put(program, node.verifiedInstructions(ScenarioHost.ALICE, program));
      }
      found.put("from_network", node.verifiedInstructions(ScenarioHost.HOST, "from_network"));
      found.put("to_network", node.verifiedInstructions(ScenarioHost.HOST, "to_network"));
    }
    for (final String program : List.of("prefilter", "balancer", "prefilter_balancer")) {
      found.put(program, loaded(program, program));
    }
    for (final String hook : List.of("bind", "connect", "sendmsg", "recvmsg", "getpeername")) {
      for (final String family : List.of("4", "6")) {
        final String program = "socket_" + hook + family;
        found.put(program, loaded("socket", program));
      }
    }
    found.put("socket_find", loaded("socket_find", "socket_find"));
    found.put("socket_end_tcp", loaded("socket_end", "socket_end_tcp"));
    found.put("socket_end_udp", loaded("socket_end", "socket_end_udp"));
    found.put("conntrack_sweep", loaded("conntrack_gc", "conntrack_sweep"));

    final Properties budgets = new Properties();
    try (InputStream in = ComplexityKernelTest.class.getResourceAsStream(BUDGETS)) {
      assertNotNull(in, BUDGETS);
      budgets.load(in);
    }
    assertEquals(
        budgets.stringPropertyNames(), Set.copyOf(found.keySet()), "programs with a budget");
    found
        .entrySet()
        .removeIf(
            entry -> entry.getValue() <= Integer.parseInt(budgets.getProperty(entry.getKey())));
    assertEquals(Map.of(), found, "verified instructions above the budget " + budgets);
  }

  private static int loaded(String name, String program) {
    final ScenarioObject object = ScenarioObject.open(name);
    try (var opened = object.object()) {
      for (final String map : opened.mapNames()) {
        if (map.startsWith("conntrack")) {
          opened.setMaxEntries(map, 64);
        }
      }
      if (name.endsWith("balancer")) {
        final var config =
            new BalancerConfigFlyweight().wrap(object.constant("balancer_config"), 0);
        config.enableIpv4(1).enableIpv6(1);
      }
      if (name.startsWith("prefilter")) {
        object.constant("prefilter_config").putShort(0, (short) 0x0101);
      }
      opened.load();
      return opened.program(program).info().verifiedInstructions();
    }
  }
}
