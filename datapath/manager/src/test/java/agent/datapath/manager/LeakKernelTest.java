package agent.datapath.manager;

import static agent.datapath.manager.ManagerTestNode.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.BindingsException;
import agent.bindings.Descriptors;
import agent.bindings.Errno;
import agent.bindings.bpf.BpfLink;
import agent.bindings.bpf.BpfLink.LinkDescription;
import agent.bindings.bpf.BpfProgram;
import agent.bindings.bpf.MapCalls;
import agent.datapath.spec.EndpointSpec;
import agent.datapath.spec.TcMode;
import agent.maps.kernel.BpfMap;
import agent.testkit.KernelTest;
import agent.testkit.Workload;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.IntFunction;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Attaching and detaching leaks no kernel object. Objects are tracked by id, since other tests may
 * create and free objects at the same time.
 */
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
  void shouldLeakNoKernelObjectInAHundredRounds(TcMode mode) throws Exception {
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
      assertNoMoreThan(descriptors.size());
      assertEquals(0, manager.status().endpoints());
      assertEquals(Set.of(), await(manager.endpoints().known()));
    }
    assertEquals(ROUNDS + 1, maps.size());
    assertEquals(2, programs.size(), "programs of all endpoints");
    assertEquals(mode == TcMode.TCX ? 2 * (ROUNDS + 1) : 0, links.size());
    assertFreed("program", programs, BpfProgram::openById);
    assertFreed("link", links, BpfLink::openById);
    assertFreed("policy map", maps, LeakKernelTest::openMap);
  }

  private void round(DatapathManager manager, int id, TcMode mode) {
    final EndpointSpec spec = ManagerTestNode.spec(id, workload, 3001);
    ManagerTestNode.attach(manager, spec, ManagerTestNode.allowAll());
    final BpfMap policy = manager.maps().find("policy_%05d".formatted(id)).orElseThrow();
    maps.add(policy.description().id());
    if (mode == TcMode.TCX) {
      for (final String program : List.of("from_endpoint", "to_endpoint")) {
        final Path pin = node.bpfRoot().resolve("agent/endpoints/" + id).resolve(program);
        try (BpfLink link = BpfLink.openPinned(pin).orElseThrow()) {
          final LinkDescription description = link.info();
          links.add(description.id());
          programs.add(description.programId());
        }
      }
    } else {
      programs.add(attachedFilter("ingress"));
      programs.add(attachedFilter("egress"));
    }
    assertEquals(List.of(), ManagerTestNode.detach(manager, id));
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

  /** The guard opens some for a moment. */
  private static void assertNoMoreThan(int descriptors) throws Exception {
    final long deadline = System.currentTimeMillis() + FREED_WITHIN_MS;
    while (descriptors().size() > descriptors && System.currentTimeMillis() < deadline) {
      Thread.sleep(50);
    }
    assertTrue(descriptors().size() <= descriptors, () -> "more than " + descriptors);
  }

  /** Waits until the objects are freed: the kernel frees programs and maps after a delay. */
  private static void assertFreed(
      String kind, Set<Integer> ids, IntFunction<? extends AutoCloseable> open) throws Exception {
    final long deadline = System.currentTimeMillis() + FREED_WITHIN_MS;
    final Set<Integer> left = new HashSet<>(ids);
    while (!left.isEmpty() && System.currentTimeMillis() < deadline) {
      for (final int id : Set.copyOf(left)) {
        if (isGone(id, open)) {
          left.remove(id);
        }
      }
      Thread.sleep(50);
    }
    assertTrue(left.isEmpty(), kind + " ids that are not freed: " + left);
  }

  private static AutoCloseable openMap(int id) {
    final int fd = MapCalls.openById(id);
    if (fd < 0) {
      throw new BindingsException("open map " + id, fd);
    }
    return () -> Descriptors.close(fd);
  }

  private static boolean isGone(int id, IntFunction<? extends AutoCloseable> open)
      throws Exception {
    try (AutoCloseable object = open.apply(id)) {
      return object == null;
    } catch (BindingsException failure) {
      return failure.errno() == Errno.ENOENT;
    }
  }
}
