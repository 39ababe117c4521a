package agent.datapath.manager;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.conductor.ModuleHealth;
import agent.conductor.ModuleHealth.Level;
import agent.datapath.spec.DatapathContext;
import agent.datapath.spec.EndpointFaults.Fault;
import agent.datapath.spec.EndpointFaults.Part;
import agent.datapath.spec.Prefilter.PrefilterMode;
import agent.datapath.spec.TcMode;
import agent.maps.layout.DropReason;
import agent.maps.layout.MetricsDirection;
import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.Ping;
import agent.testkit.VethPair;
import agent.testkit.Workload;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Programs that the verifier refuses leave no workload open, and do not end the agent. */
@KernelTest
class RefusedProgramsKernelTest {
  private static final String PROGRAMS = "dp-programs";
  private static final String OUTSIDE4 = "192.0.2.2";
  private static final String OUTSIDE6 = "2001:db8:2::2";
  private static final String NODE4 = "192.0.2.1";
  private static final String NODE6 = "2001:db8:2::1";
  private static final int WAIT_MS = 300;

  private ManagerTestNode node;

  @BeforeEach
  void create() {
    node = new ManagerTestNode();
  }

  @AfterEach
  void remove() throws IOException {
    node.close();
  }

  @ParameterizedTest
  @MethodSource("agent.datapath.manager.ManagerTestNode#tcModes")
  void shouldDropThePacketsOfAWorkloadWhoseProgramsAreRefused(TcMode mode) throws IOException {
    refuse("endpoint");
    final Workload workload = node.workload(81);
    try (DatapathManager manager = node.launch(kept().tcMode(mode))) {
      final var spec = ManagerTestNode.spec(801, workload, 8001);
      ManagerTestNode.attach(manager, spec, ManagerTestNode.allowAll());
      assertFalse(isReachable(workload));
      assertFalse(isAnswered(node.namespace(), workload.ipv4()));
      assertFalse(isAnswered(node.namespace(), workload.ipv6()));
      assertTrue(dropped(manager, MetricsDirection.EGRESS) > 0);
      assertRefused(manager, "endpoint");
      final List<Fault> faults = manager.endpointFaults().of(801);
      assertEquals(1, faults.size(), faults::toString);
      assertEquals(Part.PROGRAMS, faults.getFirst().part());
      assertFalse(faults.getFirst().isRepairable());
      assertTrue(faults.getFirst().message().contains("all packets are dropped"));
      assertEquals(List.of(), ManagerTestNode.detach(manager, 801));
      assertEquals(List.of(), manager.endpointFaults().of(801));
      assertTrue(
          Ping.isAnswered(workload.namespace(), ManagerTestNode.GATEWAY4, 2000),
          "nothing is attached any more");
    }
  }

  @ParameterizedTest
  @MethodSource("agent.datapath.manager.ManagerTestNode#tcModes")
  void shouldKeepTheProgramsOfThePreviousRun(TcMode mode) throws IOException {
    final Workload workload = node.workload(82);
    final var spec = ManagerTestNode.spec(802, workload, 8002);
    try (DatapathManager manager = node.launch(node.context().tcMode(mode))) {
      ManagerTestNode.attach(manager, spec, ManagerTestNode.allowAll());
    }
    refuse("endpoint");
    try (DatapathManager manager = node.launch(kept().tcMode(mode))) {
      ManagerTestNode.attach(manager, spec, ManagerTestNode.allowAll());
      assertTrue(isReachable(workload));
      final List<Fault> faults = manager.endpointFaults().of(802);
      assertEquals(1, faults.size(), faults::toString);
      assertTrue(faults.getFirst().isRepairable());
      assertRefused(manager, "endpoint");
      final Workload other = node.workload(83);
      ManagerTestNode.attach(
          manager, ManagerTestNode.spec(803, other, 8003), ManagerTestNode.allowAll());
      assertFalse(isReachable(other));
    }
    try (DatapathManager manager = node.launch(node.context().tcMode(mode))) {
      ManagerTestNode.attach(manager, spec, ManagerTestNode.allowAll());
      assertEquals(List.of(), manager.endpointFaults().of(802));
      assertEquals(Level.OK, ManagerTestNode.health(manager, PROGRAMS).level());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"host", "prefilter"})
  void shouldPassTheNodesOwnPacketsAtADevice(String refused) throws IOException {
    refuse(refused);
    final Workload workload = node.workload(84);
    try (NetworkNamespace outside = NetworkNamespace.create("out")) {
      final VethPair device = device(outside);
      final DatapathContext context = kept().devices(Map.of("up0", device.hostIfindex()));
      if (refused.equals("prefilter")) {
        context.prefilterDevice("up0").prefilterMode(PrefilterMode.GENERIC);
      }
      try (DatapathManager manager = node.launch(context)) {
        ManagerTestNode.attach(
            manager, ManagerTestNode.spec(804, workload, 8004), ManagerTestNode.allowAll());
        assertRefused(manager, refused);
        assertTrue(isReachable(workload), "by the node");
        for (final String address : List.of(OUTSIDE4, OUTSIDE6)) {
          assertTrue(isAnswered(node.namespace(), address), address);
          assertFalse(isAnswered(workload.namespace(), address), address);
        }
        for (final String address : List.of(workload.ipv4(), workload.ipv6())) {
          assertFalse(isAnswered(outside, address), address);
        }
        assertTrue(isAnswered(outside, NODE4));
        assertTrue(isAnswered(outside, NODE6));
        assertTrue(dropped(manager, MetricsDirection.NETWORK) > 0);
      }
    }
  }

  @Test
  void shouldGoOnWithoutTheSweep() throws IOException {
    refuse("conntrack_gc");
    final Workload workload = node.workload(85);
    try (DatapathManager manager = node.launch(kept())) {
      ManagerTestNode.attach(
          manager, ManagerTestNode.spec(805, workload, 8005), ManagerTestNode.allowAll());
      assertTrue(isReachable(workload));
      assertRefused(manager, "conntrack_gc");
    }
  }

  private DatapathContext kept() {
    return node.context().keepsSources(true);
  }

  /**
   * Makes the programs of an object read a byte of the packet before they know that there is one.
   */
  private void refuse(String object) throws IOException {
    final Path folder = node.state().resolve("bpf");
    final String changed = "programs/" + object + ".bpf.c";
    for (final String file : new String(source("index"), StandardCharsets.UTF_8).split("\\s+")) {
      final Path copy = folder.resolve(file);
      Files.createDirectories(copy.getParent());
      Files.write(copy, source(file));
    }
    final String shipped = Files.readString(folder.resolve(changed));
    final String refused =
        object.equals("conntrack_gc")
            ? shipped.replaceFirst(
                "(int conntrack_sweep\\([^{]*\\{)", "$1\n\t*(volatile char *)0xf00 = 0;")
            : shipped.replaceAll(
                "(SEC\\(\"[^\"]*\"\\)\nint \\w+\\(struct (?:__sk_buff|xdp_md) \\*(\\w+)\\)\n\\{)",
                "$1\n\t*(volatile char *)(long)$2->data;");
    assertFalse(shipped.equals(refused), changed);
    Files.writeString(folder.resolve(changed), refused);
  }

  private static byte[] source(String path) throws IOException {
    try (InputStream stream =
        RefusedProgramsKernelTest.class.getResourceAsStream("/bpf/src/" + path)) {
      return stream.readAllBytes();
    }
  }

  private VethPair device(NetworkNamespace outside) {
    final VethPair device = VethPair.create(node.namespace(), "up0", outside, "net0");
    node.namespace()
        .ip("address add " + NODE4 + "/24 dev up0", "address add " + NODE6 + "/64 dev up0 nodad");
    outside.ip(
        "address add " + OUTSIDE4 + "/24 dev net0",
        "address add " + OUTSIDE6 + "/64 dev net0 nodad",
        "route add default via " + NODE4,
        "route add default via " + NODE6);
    return device;
  }

  private static boolean isReachable(Workload workload) {
    return isAnswered(workload.namespace(), ManagerTestNode.GATEWAY4)
        && isAnswered(workload.namespace(), ManagerTestNode.GATEWAY6);
  }

  private static boolean isAnswered(NetworkNamespace from, String address) {
    return Ping.isAnswered(from, address, WAIT_MS);
  }

  private static long dropped(DatapathManager manager, MetricsDirection direction) {
    return manager.metrics().packets(direction.number(), DropReason.PROGRAM_REFUSED.number());
  }

  private static void assertRefused(DatapathManager manager, String object) {
    final ModuleHealth health = ManagerTestNode.health(manager, PROGRAMS);
    final String message = health.message();
    assertEquals(Level.STOPPED, health.level(), message);
    assertTrue(
        message.startsWith(
            "kernel %s rejects the programs of %s: "
                .formatted(System.getProperty("os.version"), object)),
        message);
    assertTrue(message.contains("invalid"), message); // of the verifier
  }
}
