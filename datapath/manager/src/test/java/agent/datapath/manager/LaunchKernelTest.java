package agent.datapath.manager;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.bpf.BpfFileSystem;
import agent.conductor.ModuleHealth;
import agent.datapath.spec.EndpointAttachmentProxy;
import agent.datapath.spec.TcMode;
import agent.testkit.Commands;
import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.Ping;
import agent.testkit.VethPair;
import agent.testkit.Workload;
import agent.types.OperationException;
import agent.types.Refusal;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

@KernelTest
class LaunchKernelTest {
  private ManagerTestNode node;

  @BeforeEach
  void create() {
    node = new ManagerTestNode();
  }

  @AfterEach
  void remove() throws IOException {
    node.close();
  }

  @Test
  void shouldMountABpfFileSystemWhereNoneIsMounted() throws IOException {
    final Path root = Files.createTempDirectory("agent-nobpf-").resolve("deep");
    try (DatapathManager manager = node.launch(ManagerTestNode.context(root, node.state()))) {
      assertTrue(BpfFileSystem.isMounted(root));
      assertTrue(Files.exists(root.resolve("agent/maps/conntrack4_tcp_v2")));
      assertEquals("running", ManagerTestNode.health(manager, "dp-conductor").message());
      assertEquals(ModuleHealth.Level.OK, ManagerTestNode.health(manager, "dp-maps").level());
    } finally {
      Commands.run("umount", root.toString());
      Files.delete(root);
      Files.delete(root.getParent());
    }
  }

  @Test
  void shouldNameTheMissingDeviceAndCloseAllDescriptors() throws IOException {
    final List<String> before = descriptors();
    final Refusal refusal =
        assertThrows(Refusal.class, () -> node.launch(node.context().prefilterDevice("eth77")));
    assertEquals(Refusal.Kind.INVALID, refusal.kind());
    assertEquals("prefilter-device: interface 'eth77' does not exist", refusal.getMessage());
    assertEquals(before, descriptors());
  }

  @Test
  void shouldReportTheMissingCompilerAndKeepAttachedPrograms() {
    final Workload workload = node.workload(71);
    try (DatapathManager manager = node.launch(node.context())) {
      ManagerTestNode.attach(
          manager, ManagerTestNode.spec(701, workload, 7001), ManagerTestNode.allowAll());
    }
    final List<String> pins = node.pins();
    final OperationException failure =
        assertThrows(
            OperationException.class,
            () ->
                node.launch(
                    node.context().compileDebug(true).clangCandidates(List.of("no-such-clang"))));
    assertTrue(failure.getMessage().contains("or newer was not found"), failure.getMessage());
    assertEquals(pins, node.pins());
    assertTrue(Ping.isAnswered(workload.namespace(), ManagerTestNode.GATEWAY4, 2000));
  }

  @Test
  void shouldCompileAndAttachWhereTheCompilationIsDebugged() throws IOException {
    final Workload workload = node.workload(72);
    try (DatapathManager manager = node.launch(node.context().compileDebug(true))) {
      ManagerTestNode.attach(
          manager, ManagerTestNode.spec(702, workload, 7002), ManagerTestNode.allowAll());
      assertTrue(Ping.isAnswered(workload.namespace(), ManagerTestNode.GATEWAY4, 2000));
      assertTrue(Ping.isAnswered(workload.namespace(), ManagerTestNode.GATEWAY6, 2000));
    }
    try (var cached = Files.list(node.state().resolve("objects"))) {
      final List<String> suffixes =
          cached.map(path -> path.toString().replaceAll(".*bpf", "")).sorted().toList();
      assertEquals(
          List.of(".i", ".i", ".o", ".o", ".s", ".s"), suffixes, "endpoint and conntrack_gc");
    }
  }

  @ParameterizedTest
  @MethodSource("agent.datapath.manager.ManagerTestNode#tcModes")
  void shouldGuardDevicesAsTheyComeAndGo(TcMode mode) {
    try (NetworkNamespace outside = NetworkNamespace.create("out");
        DatapathManager manager = node.launch(node.context().tcMode(mode))) {
      final VethPair up = VethPair.create(node.namespace(), "up0", outside, "net0");
      outside.exec("ip", "address", "add", "192.0.2.2/24", "dev", "net0");
      node.namespace().exec("ip", "address", "add", "192.0.2.1/24", "dev", "up0");
      assertFalse(isGuarded(mode));
      ManagerTestNode.await(manager.devices().guard(Map.of("up0", up.hostIfindex())));
      assertTrue(isGuarded(mode));
      assertTrue(Ping.isAnswered(outside, "192.0.2.1", 2000));
      assertThrows(
          OperationException.class,
          () ->
              ManagerTestNode.await(
                  manager.devices().guard(Map.of("up0", up.hostIfindex(), "gone0", 99))));
      assertTrue(isGuarded(mode), "the others are guarded");
      ManagerTestNode.await(manager.devices().guard(Map.of()));
      assertFalse(isGuarded(mode));
    }
  }

  private boolean isGuarded(TcMode mode) {
    return mode == TcMode.TCX
        ? node.pins().contains("agent/devices/up0/from_network")
        : node.namespace()
            .exec("tc", "filter", "show", "dev", "up0", "ingress")
            .contains("from_network");
  }

  @ParameterizedTest
  @MethodSource("agent.datapath.manager.ManagerTestNode#tcModes")
  void shouldDeliverFromTheNetworkThroughTheHostProgram(TcMode mode) {
    final Workload workload = node.workload(73);
    try (NetworkNamespace outside = NetworkNamespace.create("out")) {
      final VethPair up = VethPair.create(node.namespace(), "up0", outside, "net0");
      node.namespace().exec("ip", "address", "add", "192.0.2.1/24", "dev", "up0");
      outside.ip("address add 192.0.2.2/24 dev net0", "route add 10.77.0.0/24 via 192.0.2.1");
      try (DatapathManager manager =
          node.launch(node.context().devices(Map.of("up0", up.hostIfindex())).tcMode(mode))) {
        ManagerTestNode.attach(
            manager, ManagerTestNode.spec(703, workload, 7003), ManagerTestNode.allowAll());
        assertTrue(Ping.isAnswered(outside, workload.ipv4(), 2000));
        assertTrue(Ping.isAnswered(workload.namespace(), "192.0.2.2", 2000));
        assertEquals(mode == TcMode.TCX, node.pins().contains("agent/devices/up0/from_network"));
      }
      try (DatapathManager manager = node.launch(node.context().tcMode(mode))) {
        assertEquals(mode, manager.status().tcMode());
        assertTrue(node.pins().stream().noneMatch(pin -> pin.contains("/devices/")));
        assertTrue(Ping.isAnswered(outside, workload.ipv4(), 2000));
      }
    }
  }

  @Test
  void shouldStopAllAgentsOnCloseAndRefuseLaterCommands() {
    final DatapathManager manager = node.launch(node.context());
    final EndpointAttachmentProxy proxy = manager.endpoints();
    manager.close();
    manager.close();
    final Refusal refusal = assertThrows(Refusal.class, () -> ManagerTestNode.await(proxy.known()));
    assertEquals(Refusal.Kind.UNAVAILABLE, refusal.kind());
  }

  /** Returns the open descriptors of kernel objects; the JVM opens and closes files at any time. */
  private static List<String> descriptors() throws IOException {
    final List<String> open = new ArrayList<>();
    try (var descriptors = Files.newDirectoryStream(Path.of("/proc/self/fd"))) {
      for (final Path descriptor : descriptors) {
        try {
          final String target = Files.readSymbolicLink(descriptor).toString();
          if (target.startsWith("anon_inode:")) {
            open.add(target);
          }
        } catch (NoSuchFileException closedMeanwhile) {
          continue;
        }
      }
    }
    open.sort(null);
    return open;
  }
}
