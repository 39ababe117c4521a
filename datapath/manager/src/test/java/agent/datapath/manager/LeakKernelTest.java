package agent.datapath.manager;

import static agent.datapath.manager.ManagerTestNode.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.BpfFileSystem;
import agent.bindings.Descriptors;
import agent.bindings.LinkDescription;
import agent.bindings.ObjectDescriptions;
import agent.datapath.manager.spec.EndpointSpec;
import agent.datapath.manager.spec.TcMode;
import agent.maps.kernel.BpfMap;
import agent.testkit.KernelTest;
import agent.testkit.Workload;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.IntUnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Each object is followed by its id: other tests of this machine make and free objects, too. */
@KernelTest
class LeakKernelTest {
  private static final int ROUNDS = 100;
  private static final int FREED_WITHIN_MS = 10_000;

  private final Set<Integer> programs = new HashSet<>();
  private final Set<Integer> links = new HashSet<>();
  private final Set<Integer> maps = new HashSet<>();
  private ManagerTestNode node;
  private Workload workload;

  @BeforeEach
  void create() {
    node = new ManagerTestNode();
    workload = node.workload(31);
  }

  @AfterEach
  void remove() throws IOException {
    node.close();
  }

  @ParameterizedTest
  @MethodSource("agent.datapath.manager.ManagerTestNode#tcModes")
  void shouldLeaveNothingBehindAfterAHundredRounds(TcMode mode) throws Exception {
    try (DatapathManager manager = node.launch(node.context().tcMode(mode))) {
      round(manager, 300, mode);
      final List<String> pins = node.pins();
      final int openMaps = manager.maps().snapshot().size();
      final Set<String> descriptors = descriptors();
      for (int i = 0; i < ROUNDS; i++) {
        round(manager, 301 + i, mode);
      }
      assertEquals(pins, node.pins());
      assertEquals(openMaps, manager.maps().snapshot().size());
      assertEquals(descriptors.size(), descriptors().size(), () -> "descriptors");
      assertEquals(0, manager.status().endpoints());
      assertEquals(Set.of(), await(manager.proxy().knownEndpoints()));
    }
    assertEquals(ROUNDS + 1, maps.size());
    assertEquals(2 * (ROUNDS + 1), programs.size());
    assertEquals(mode == TcMode.TCX ? 2 * (ROUNDS + 1) : 0, links.size());
    assertFreed("program", programs, ObjectDescriptions::openProgram);
    assertFreed("link", links, ObjectDescriptions::openLink);
    assertFreed("policy map", maps, ObjectDescriptions::openMap);
  }

  private void round(DatapathManager manager, int id, TcMode mode) {
    final EndpointSpec spec = ManagerTestNode.spec(id, workload, 3001);
    if (id % 2 == 0) {
      await(manager.proxy().prepareEndpoint(spec));
    }
    ManagerTestNode.attach(manager, spec, ManagerTestNode.open());
    if (id % 3 == 2) {
      await(manager.proxy().prepareEndpoint(spec.withIdentity(3002)));
    }
    final BpfMap policy = manager.maps().find("policy_%05d".formatted(id)).orElseThrow();
    maps.add(policy.description().id());
    if (mode == TcMode.TCX) {
      for (final String program : List.of("from_endpoint", "to_endpoint")) {
        final int link =
            BpfFileSystem.open(node.bpfRoot().resolve("agent/endpoints/" + id).resolve(program));
        final LinkDescription description = ObjectDescriptions.link(link);
        links.add(description.id());
        programs.add(description.programId());
        Descriptors.close(link);
      }
    } else {
      programs.add(attachedFilter("ingress"));
      programs.add(attachedFilter("egress"));
    }
    assertEquals(List.of(), await(manager.proxy().detachEndpoint(id)));
  }

  private int attachedFilter(String hook) {
    final String filters =
        node.namespace().exec("tc", "filter", "show", "dev", workload.veth().hostInterface(), hook);
    final int at = filters.indexOf(" id ") + 4;
    return Integer.parseInt(filters.substring(at, filters.indexOf(' ', at)));
  }

  private static Set<String> descriptors() throws IOException {
    final Set<String> open = new HashSet<>();
    try (Stream<Path> paths = Files.list(Path.of("/proc/self/fd"))) {
      paths.forEach(path -> open.add(path.toString()));
    }
    return open;
  }

  /** The kernel frees programs and maps a moment after the last reference has gone. */
  private static void assertFreed(String kind, Set<Integer> ids, IntUnaryOperator open)
      throws InterruptedException {
    final long deadline = System.currentTimeMillis() + FREED_WITHIN_MS;
    final Set<Integer> left = new HashSet<>(ids);
    while (!left.isEmpty() && System.currentTimeMillis() < deadline) {
      left.removeIf(id -> isGone(id, open));
      Thread.sleep(50);
    }
    assertTrue(left.isEmpty(), kind + " ids that are still there: " + left);
  }

  private static boolean isGone(int id, IntUnaryOperator open) {
    final int fd = open.applyAsInt(id);
    Descriptors.close(fd);
    return fd < 0;
  }
}
