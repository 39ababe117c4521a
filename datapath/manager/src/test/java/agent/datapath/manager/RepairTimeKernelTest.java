package agent.datapath.manager;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.bpf.BpfFileSystem;
import agent.bindings.bpf.BpfLink;
import agent.bindings.bpf.BpfObject;
import agent.bindings.bpf.KernelFeatures;
import agent.conductor.Repairs.Kind;
import agent.datapath.spec.Prefilter.PrefilterMode;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.EndpointMap;
import agent.maps.kernel.PolicyMapArray;
import agent.maps.kernel.PrefilterWords;
import agent.testkit.BestTime;
import agent.testkit.KernelTest;
import agent.testkit.VethPair;
import agent.testkit.Workload;
import agent.types.Prefix;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** What another tool changes in the kernel is repaired within 10 seconds. */
@KernelTest
class RepairTimeKernelTest {
  private static final String DEVICE = "up0";
  private static final int ENDPOINT = 931;

  private ManagerTestNode node;
  private Workload workload;
  private DatapathManager manager;
  private GuardWatch watch;

  /** What another tool does. */
  private interface Damage {
    void run() throws Exception;
  }

  @BeforeEach
  void create() {
    node = new ManagerTestNode();
    workload = node.workload(93);
    node.namespace()
        .ip(
            "link add " + DEVICE + " type veth peer name up1",
            "link set " + DEVICE + " up",
            "link set up1 up");
    manager =
        node.launch(
            node.context()
                .devices(Map.of(DEVICE, VethPair.index(node.namespace(), DEVICE)))
                .prefilterDevice(DEVICE)
                .prefilterMode(PrefilterMode.GENERIC));
    watch = new GuardWatch(manager);
    manager.prefilter().add(OptionalLong.empty(), List.of(Prefix.parse("192.0.2.0/25")));
    ManagerTestNode.attach(
        manager, ManagerTestNode.spec(ENDPOINT, workload, 9301), ManagerTestNode.allowAll());
  }

  @AfterEach
  void remove() throws IOException {
    manager.close();
    node.close();
  }

  private void assertRepairedInTime(String what, Kind kind, Damage damage) throws Exception {
    BestTime.assertWithin(
        GuardWatch.LIMIT,
        what,
        () -> {
          watch.awaitRight();
          final long before = watch.repairs(kind);
          final long startNs = System.nanoTime();
          damage.run();
          watch.awaitRepair(kind, before + 1);
          return Duration.ofNanos(System.nanoTime() - startNs);
        });
  }

  private Path pin(String path) {
    return node.bpfRoot().resolve("agent").resolve(path);
  }

  private static void detach(Path pin) {
    try (BpfLink link = BpfLink.openPinned(pin).orElseThrow()) {
      link.detach();
    }
  }

  /** Opens a pinned map as another process does. */
  private BpfMap opened(String name) {
    final Path pin = pin("maps").resolve(name);
    return BpfMap.adopt(
        BpfFileSystem.open(pin),
        manager.maps().find(name).orElseThrow().definition(),
        pin.toString());
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void shouldRepairHooksInTime() throws Exception {
    final String program = "endpoints/" + ENDPOINT + "/from_endpoint";
    if (KernelFeatures.probe().tcx()) {
      assertRepairedInTime("a link", Kind.LINK, () -> detach(pin(program)));
      assertRepairedInTime("a pin", Kind.LINK, () -> Files.delete(pin(program)));
      assertRepairedInTime(
          "a device's link", Kind.LINK, () -> detach(pin("devices/" + DEVICE + "/from_network")));
      assertRepairedInTime("the order of programs", Kind.PROGRAM_ORDER, this::attachBefore);
    } else {
      assertRepairedInTime(
          "a filter", Kind.LINK, () -> deleteQdisc(workload.veth().hostInterface()));
      assertRepairedInTime("a device's filter", Kind.LINK, () -> deleteQdisc(DEVICE));
    }
    assertRepairedInTime(
        "the prefilter", Kind.LINK, () -> detach(pin("devices/" + DEVICE + "/prefilter_generic")));
  }

  private void deleteQdisc(String device) {
    node.namespace().deleteClsact(device);
  }

  /** Attaches a foreign program before that of the endpoint; the link ends with the repair. */
  private void attachBefore() throws Exception {
    try (InputStream in = getClass().getResourceAsStream("/bpf/trivial.bpf.o");
        BpfObject foreign = BpfObject.open(in.readAllBytes(), "foreign")) {
      foreign.load();
      final int ifindex = workload.veth().hostIfindex();
      final long before = watch.repairs(Kind.PROGRAM_ORDER);
      try (BpfLink first =
          node.namespace()
              .run(() -> BpfLink.createTcxFirst(foreign.program("trivial_tc"), ifindex, true))) {
        watch.awaitRepair(Kind.PROGRAM_ORDER, before + 1);
        first.detach();
      }
    }
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void shouldRepairMapsInTime() throws Exception {
    final String name = "policy_%05d".formatted(ENDPOINT);
    try (BpfMap map = opened(name);
        BpfMap slots = opened("policies");
        BpfMap endpoints = opened("endpoints");
        BpfMap cells = opened("prefilter4_cells");
        PrefilterWords words = new PrefilterWords(cells)) {
      assertRepairedInTime("a policy entry", Kind.MAP_ENTRY, () -> GuardWatch.deleteEntry(map));
      final PolicyMapArray policies = new PolicyMapArray(slots);
      assertRepairedInTime(
          "a slot of policies", Kind.MAP_ENTRY, () -> assertEquals(0, policies.clear(ENDPOINT)));
      assertRepairedInTime(
          "a slot of endpoints",
          Kind.MAP_ENTRY,
          () -> assertEquals(0, new EndpointMap(endpoints).clear(ENDPOINT)));
      assertRepairedInTime("a prefilter cell", Kind.MAP_ENTRY, () -> words.word(7, -1));
    }
    assertTrue(Files.exists(pin("maps/ipcache4")));
    assertRepairedInTime(
        "the pin of a map", Kind.MAP_PIN, () -> Files.delete(pin("maps/ipcache4")));
  }
}
