package agent.datapath.manager;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.bpf.BpfLink;
import agent.bindings.bpf.BpfLink.LinkDescription;
import agent.bindings.bpf.BpfProgram;
import agent.bindings.bpf.HookProbe;
import agent.bindings.net.NetworkDevice;
import agent.conductor.ModuleHealth.Level;
import agent.conductor.Repairs.Kind;
import agent.datapath.spec.TcMode;
import agent.testkit.KernelTest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Another tool detaches each program that the kernel has on a device of the node or at its sockets,
 * and removes each pin, as the kernel and the file system list them.
 */
@KernelTest
class EveryAttachmentIsGuardedKernelTest {
  private static final Pattern PROGRAM = Pattern.compile("(from|to)_(endpoint|network)");

  static Stream<Arguments> tcModes() {
    return ManagerTestNode.tcModes().stream().map(Arguments::of);
  }

  @ParameterizedTest
  @MethodSource("tcModes")
  @Execution(ExecutionMode.CONCURRENT)
  void shouldAttachEachProgramAgain(TcMode mode) throws Exception {
    try (GuardedNode node = new GuardedNode(mode)) {
      final Set<String> before = attached(node);
      // 2 of the endpoint, 2 of the device, 1 of the other device, and those at sockets
      assertTrue(before.size() > 5, before::toString);
      detachAll(node);
      node.watch().awaitLevel(Level.DEGRADED);
      node.watch().awaitRepair(Kind.LINK, before.size()); // each was detached
      GuardWatch.until(() -> attached(node).equals(before), () -> missing(node, before));
      node.watch().awaitRight();
    }
  }

  @ParameterizedTest
  @MethodSource("tcModes")
  @Execution(ExecutionMode.CONCURRENT)
  void shouldPinEachObjectAgain(TcMode mode) throws Exception {
    try (GuardedNode node = new GuardedNode(mode)) {
      final List<String> before = node.pins();
      final Set<String> attached = attached(node);
      for (final String pin : before) {
        Files.delete(node.bpfRoot().resolve(pin));
      }
      node.watch().awaitLevel(Level.DEGRADED);
      GuardWatch.until(
          () -> node.pins().equals(before),
          () ->
              "not pinned again: "
                  + before.stream().filter(p -> !node.pins().contains(p)).toList());
      node.watch().awaitRight();
      assertEquals(attached, attached(node));
    }
  }

  private static String missing(GuardedNode node, Set<String> before) {
    final Set<String> missing = new TreeSet<>(before);
    missing.removeAll(attached(node));
    return "not attached again: " + missing + ", " + node.watch().module();
  }

  /** Returns each program that the kernel runs at a hook, with the hook. */
  private static Set<String> attached(GuardedNode node) {
    final Set<String> found = new TreeSet<>();
    for (final String device : node.devices()) {
      for (final boolean isIngress : new boolean[] {true, false}) {
        tcx(node, device, isIngress)
            .forEach(name -> found.add(device + " tcx " + isIngress + " " + name));
        final String hook = isIngress ? "ingress" : "egress";
        node.namespace()
            .exec("tc", "filter", "show", "dev", device, hook)
            .lines()
            .map(PROGRAM::matcher)
            .filter(Matcher::find)
            .map(Matcher::group)
            .forEach(name -> found.add(device + " filter " + hook + " " + name));
      }
      node.namespace()
          .exec("ip", "-d", "link", "show", "dev", device)
          .lines()
          .filter(line -> line.contains("prog/xdp"))
          .forEach(line -> found.add(device + " xdp"));
    }
    links(node).stream()
        .filter(pin -> isAtSockets(pin))
        .forEach(pin -> found.add("sockets " + pin.getFileName()));
    return found;
  }

  private static List<String> tcx(GuardedNode node, String device, boolean isIngress) {
    final HookProbe probe = new HookProbe();
    return node.namespace()
        .call(
            () -> {
              final List<String> names = new ArrayList<>();
              final int count = probe.readTcx(NetworkDevice.index(device), isIngress);
              for (int i = 0; i < count; i++) {
                try (BpfProgram program = BpfProgram.openById(probe.tcxProgramId(i))) {
                  names.add(program.name());
                }
              }
              return names;
            });
  }

  private static List<Path> links(GuardedNode node) {
    return node.pins().stream()
        .filter(pin -> !pin.startsWith("agent/maps/"))
        .map(node.bpfRoot()::resolve)
        .toList();
  }

  private static BpfLink opened(Path pin) {
    return BpfLink.openPinned(pin).orElseThrow(() -> new AssertionError("no link: " + pin));
  }

  private static boolean isAtSockets(Path pin) {
    try (BpfLink link = opened(pin)) {
      return link.info().cgroupId() != 0;
    }
  }

  /** Detaches each link that is pinned, and deletes the qdisc of each device. */
  private static void detachAll(GuardedNode node) throws IOException {
    for (final Path pin : links(node)) {
      try (BpfLink link = opened(pin)) {
        final LinkDescription found = link.info();
        assertTrue(found.ifindex() != 0 || found.cgroupId() != 0, pin::toString);
        link.detach();
      }
    }
    for (final String device : node.devices()) {
      if (node.namespace().exec("tc", "qdisc", "show", "dev", device).contains("clsact")) {
        node.namespace().deleteClsact(device);
      }
    }
  }
}
