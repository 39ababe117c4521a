package agent.datapath.programs.scenario;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.bpf.BpfObject;
import agent.bindings.bpf.LoadException;
import agent.maps.layout.NodeConfigFlyweight;
import agent.testkit.KernelTest;
import java.io.IOException;
import java.io.InputStream;
import java.lang.module.ModuleDescriptor.Version;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/**
 * What the verifier does for each program stays within the budget that is recorded for the running
 * kernel, since that is most of the load time: verified instructions, the stack of the deepest call
 * chain, and the time for the whole object.
 */
@KernelTest
class ComplexityKernelTest {
  private static final String BUDGETS = "/bpf/src/tests/complexity.budget";
  private static final String NAT46 = ".nat46";
  private static final String ABSENT = "-";
  private static final List<String> KERNELS = List.of("6.1", "6.12", "6.18");
  private static final int STACK_COLUMN = KERNELS.size() + 1;
  private static final int MS_COLUMN = STACK_COLUMN + 1;

  private static final Map<String, List<String>> PROGRAMS =
      Map.ofEntries(
          Map.entry(
              "endpoint",
              List.of("from_endpoint", "to_endpoint", "nat46_from_endpoint", "nat46_to_endpoint")),
          Map.entry("host", List.of("from_network", "to_network")),
          Map.entry(
              "closed",
              List.of(
                  "closed_from_endpoint",
                  "closed_to_endpoint",
                  "closed_from_network",
                  "closed_to_network",
                  "closed_prefilter")),
          Map.entry("prefilter", List.of("prefilter")),
          Map.entry("balancer", List.of("balancer")),
          Map.entry("prefilter_balancer", List.of("prefilter_balancer")),
          Map.entry("socket", ofSockets()),
          Map.entry("socket_find", List.of("socket_find")),
          Map.entry("socket_end", List.of("socket_end_tcp", "socket_end_udp")),
          Map.entry("proxy_filter", List.of("proxy_tcp", "proxy_udp")),
          Map.entry("conntrack_gc", List.of("conntrack_sweep")));

  private static final ProgramVariants.Node NAT46_NODE =
      new ProgramVariants.Node(7, true, 128, 32, true);

  private record Found(int instructions, int stackBytes, long loadMs) {}

  private static List<String> ofSockets() {
    final List<String> programs = new ArrayList<>();
    for (final String hook : List.of("bind", "connect", "sendmsg", "recvmsg", "getpeername")) {
      programs.add("socket_" + hook + "4");
      programs.add("socket_" + hook + "6");
    }
    return programs;
  }

  @Test
  void shouldStayWithinTheBudgetOfEachProgram() throws IOException {
    final Map<String, String[]> budgets = budgets();
    final int kernel = column(System.getProperty("os.version"));
    final Map<String, Found> found = new TreeMap<>();
    PROGRAMS.forEach(
        (object, programs) -> {
          load(found, object, programs, ProgramVariants.DEFAULT, "");
          if (ProgramVariants.isOfNode(object)) {
            load(found, object, programs, NAT46_NODE, NAT46);
          }
        });
    found.forEach(
        (program, is) ->
            System.out.printf(
                "%-28s %-6s %7d instructions, %3d bytes of stack, object in %d ms%n",
                program, KERNELS.get(kernel - 1), is.instructions, is.stackBytes, is.loadMs));
    assertEquals(budgets.keySet(), found.keySet(), "programs with a budget");
    final List<String> above = new ArrayList<>();
    found.forEach(
        (program, is) -> {
          final String[] budget = budgets.get(program);
          compare(above, program + " instructions", is.instructions, budget[kernel]);
          compare(above, program + " stack", is.stackBytes, budget[STACK_COLUMN]);
          compare(above, program + " ms", is.loadMs, budget[MS_COLUMN]);
        });
    assertEquals(List.of(), above, "above the budget of kernel " + KERNELS.get(kernel - 1));
  }

  private static void compare(List<String> above, String what, long is, String budget) {
    final long most = budget.equals(ABSENT) ? 0 : Long.parseLong(budget);
    if (is > most) {
      above.add(what + ": " + is + " of " + budget);
    }
  }

  private static void load(
      Map<String, Found> found,
      String name,
      List<String> programs,
      ProgramVariants.Node node,
      String suffix) {
    final ScenarioObject object = ScenarioObject.open(name);
    try (var opened = object.object()) {
      object.shrinkConntrack();
      ProgramVariants.write(object, name, 3);
      if (ProgramVariants.isOfNode(name)) {
        node.write(new NodeConfigFlyweight().wrap(object.constant("node_config"), 0));
      }
      final long begin = System.nanoTime();
      final boolean isLoaded = isLoaded(name, opened);
      final long loadMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begin);
      for (final String program : programs) {
        final int stack = CallChains.deepest(object.elf(), program).bytes();
        final int instructions =
            isLoaded ? opened.program(program).info().verifiedInstructions() : 0;
        found.put(program + suffix, new Found(instructions, stack, loadMs));
      }
    }
  }

  /** A kernel without bpf_sock_destroy has no program that ends sockets. */
  private static boolean isLoaded(String name, BpfObject object) {
    try {
      object.load();
      return true;
    } catch (LoadException failure) {
      if (name.equals("socket_end") && column(System.getProperty("os.version")) == 1) {
        return false;
      }
      throw new AssertionError(failure.getMessage() + "\n" + failure.log(), failure);
    }
  }

  /** Returns the column of the newest kernel of the table that is not newer than the release. */
  private static int column(String release) {
    final Version running = Version.parse(release.replaceFirst("^(\\d+\\.\\d+).*", "$1"));
    int column = 1;
    for (int i = 1; i < KERNELS.size(); i++) {
      if (running.compareTo(Version.parse(KERNELS.get(i))) >= 0) {
        column = i + 1;
      }
    }
    return column;
  }

  private static Map<String, String[]> budgets() throws IOException {
    final Map<String, String[]> budgets = new TreeMap<>();
    try (InputStream in = ComplexityKernelTest.class.getResourceAsStream(BUDGETS)) {
      assertNotNull(in, BUDGETS);
      for (final String line :
          new String(in.readAllBytes(), StandardCharsets.UTF_8).lines().toList()) {
        if (!line.startsWith("#")) {
          final String[] columns = line.trim().split("\\s+");
          assertEquals(MS_COLUMN + 1, columns.length, line);
          assertTrue(budgets.put(columns[0], columns) == null, line);
        }
      }
    }
    return budgets;
  }
}
