package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.BindingsException;
import agent.bindings.Descriptors;
import agent.bindings.bpf.BpfFileSystem;
import agent.bindings.bpf.BpfProgram;
import agent.bindings.bpf.KernelFeatures;
import agent.bindings.bpf.MapCalls;
import agent.bindings.bpf.MapSpec;
import agent.bindings.bpf.MapType;
import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.VethPair;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** {@code agent cleanup} removes what agents left, and nothing of others. */
@KernelTest
class AgentCleanupKernelTest {
  private static final List<String> WORKLOADS = List.of("frontend", "backend", "stranger");
  private static final long RELEASE_NS = TimeUnit.SECONDS.toNanos(20);

  private TestNode node;
  private NetworkNamespace outside;

  @BeforeEach
  void createNode() throws IOException {
    node = new TestNode();
    outside = NetworkNamespace.create("outside");
    node.keep(outside);
  }

  @AfterEach
  void close() throws IOException {
    node.close();
  }

  private AgentProcess.Ended cleanup(String answer, String... options) throws Exception {
    final List<String> line = new ArrayList<>(List.of("cleanup"));
    line.addAll(List.of("--state-dir", node.state().toString()));
    line.addAll(List.of("--bpf-root", node.bpfRoot().toString()));
    line.addAll(List.of("--lib-dir", node.state().resolve("lib").toString()));
    line.addAll(List.of(options));
    return AgentProcess.run(node.namespace(), answer, line.toArray(String[]::new));
  }

  private void runAgent() throws Exception {
    VethPair.create(node.namespace(), "ext0", outside, "eth0");
    final AgentProcess agent =
        node.agent(
            "--device=ext0",
            "--prefilter-device=ext0",
            "--prefilter-mode=generic",
            "--keep-bpf-templates",
            "--lib-dir=" + node.state().resolve("lib"));
    node.workload(agent, "first", "app=a");
    node.workload(agent, "second", "app=b");
    agent.expect(200, "PATCH", "/prefilter", "{\"deny\":[\"192.0.2.0/24\"]}");
    agent.kill();
  }

  /** Everything that a cleanup could change, as text. */
  private String everything() throws IOException {
    return String.join(
        "\n",
        files(node.bpfRoot()).toString(),
        files(node.state()).toString(),
        shown("address"),
        shown("-N", "route", "show", "table", "all"),
        shown("-6", "-N", "route", "show", "table", "all"),
        shown("-N", "neigh"));
  }

  /** Without what ip says of the names of other namespaces that go while it reads them. */
  private String shown(String... arguments) throws IOException {
    final List<String> command = new ArrayList<>(List.of("ip"));
    command.addAll(List.of(arguments));
    return node.namespace()
        .exec(command.toArray(String[]::new))
        .replace("Error: Peer netns reference is invalid.\n", "");
  }

  private static Set<String> files(Path folder) throws IOException {
    try (Stream<Path> paths = Files.walk(folder)) {
      final Set<String> names = new TreeSet<>();
      paths.forEach(path -> names.add(folder.relativize(path).toString()));
      return names;
    }
  }

  @Test
  void shouldRefuseWhileAnAgentRuns() throws Exception {
    final AgentProcess agent = node.agent();
    final Set<String> before = files(node.bpfRoot());
    final AgentProcess.Ended ended = cleanup("", "--force");
    assertEquals(3, ended.status(), ended.output());
    assertTrue(ended.output().contains("is in use by another agent"), ended.output());
    final AgentProcess.Ended other =
        AgentProcess.run(
            node.namespace(),
            "",
            "cleanup",
            "--force",
            "--state-dir=" + node.state().resolve("other"),
            "--bpf-root=" + node.bpfRoot());
    assertEquals(3, other.status(), other.output());
    assertEquals(before, files(node.bpfRoot()));
    agent.expect(200, "GET", "/endpoint", null);
  }

  @Test
  void shouldChangeNothingInADryRunOrUnlessItIsConfirmed() throws Exception {
    runAgent();
    final String before = everything();
    final AgentProcess.Ended dry = cleanup("y\n", "--dry-run");
    assertEquals(0, dry.status(), dry.output());
    assertTrue(dry.output().contains("would be removed"), dry.output());
    for (final String answer : new String[] {"", "n\n", "\n", "yesterday\n"}) {
      final AgentProcess.Ended refused = cleanup(answer);
      assertEquals(1, refused.status(), refused.output());
      assertTrue(
          refused.output().contains("agent: not confirmed, nothing was removed"), refused.output());
    }
    assertEquals(before, everything());
    for (final String shown :
        List.of(
            KernelFeatures.probe().tcx()
                ? "endpoints/1/from_endpoint on wl-first"
                : "filter wl-first ingress",
            "devices/ext0/prefilter_generic on ext0",
            "maps/ipcache4",
            "route 10.210.0.2/32 through wl-first",
            "neighbour 10.210.0.2 on wl-first",
            "address 10.210.0.1 on lo",
            "address fd00:210::1 on lo",
            "endpoints/1.json",
            "lib/bpf/programs/endpoint.bpf.c",
            "file " + node.state().resolve("agent.sock"))) {
      assertTrue(dry.output().contains(shown), shown + " is not in\n" + dry.output());
    }
  }

  @Test
  void shouldRemoveAllOfTheAgentAndNothingOfOthers() throws Exception {
    addWhatIsOfOthers();
    final String others = everything();
    runAgent();
    final Collection<Integer> programs = PinnedObjects.below(node.bpfRoot()).programs().values();
    assertFalse(programs.isEmpty());

    final AgentProcess.Ended ended = cleanup("y\n");
    assertEquals(0, ended.status(), ended.output());
    assertTrue(ended.output().contains("folder " + node.state() + " kept"), ended.output());
    for (final String device : List.of("wl-first", "wl-second", "ext0")) {
      for (final String side : List.of("ingress", "egress")) {
        final String filters = node.namespace().exec("tc", "filter", "show", "dev", device, side);
        assertEquals("", filters, device);
      }
      node.namespace().exec("ip", "link", "del", device);
    }
    assertEquals(others, everything());
    awaitUnloaded(programs);
    final AgentProcess.Ended again = cleanup("");
    assertEquals(1, again.status(), "only the folder with a file of others is left");
  }

  /** The node of the script has an empty /run. */
  @Test
  void shouldUnmountTheControlGroupsThatAnAgentHasMounted() throws Exception {
    final String script =
        """
        mount -t tmpfs tmpfs /run && mkdir -p /run/agent/cgroupv2 &&
        mount -t cgroup2 %s /run/agent/cgroupv2 || exit 9
        "$@"; echo "status $?"
        grep -q /run/agent/cgroupv2 /proc/self/mountinfo && echo it is mounted
        ls /run/agent
        """;
    final String unmounted = cleanupIn(script.formatted("agent"));
    assertTrue(unmounted.contains("control groups mounted at /run/agent/cgroupv2"), unmounted);
    assertTrue(unmounted.endsWith("status 0\n"), unmounted);
    Files.createDirectories(node.state());
    final String others = cleanupIn(script.formatted("cgroup2"));
    assertTrue(others.endsWith("status 0\nit is mounted\ncgroupv2\n"), others);
    Files.createDirectories(node.state());
  }

  private String cleanupIn(String script) throws Exception {
    return AgentProcess.runIn(
            script,
            node.namespace(),
            "cleanup",
            "--force",
            "--state-dir=" + node.state(),
            "--bpf-root=" + node.bpfRoot(),
            "--lib-dir=" + node.state().resolve("lib"))
        .output();
  }

  @Test
  void shouldRemoveClsactFiltersOfTheAgentOnly() throws Exception {
    VethPair.create(node.namespace(), "ext0", outside, "eth0");
    node.namespace().exec("tc", "qdisc", "add", "dev", "ext0", "clsact");
    addFilter("0x6167", "24935");
    addFilter("1", "9");
    final AgentProcess.Ended ended = cleanup("", "--force");
    Files.createDirectories(node.state());
    assertEquals(0, ended.status(), ended.output());
    assertTrue(ended.output().contains("filter ext0 ingress"), ended.output());
    final String filters = node.namespace().exec("tc", "filter", "show", "dev", "ext0", "ingress");
    assertTrue(filters.contains("pref 9 "), filters);
    assertFalse(filters.contains("pref 24935 "), filters);
    final String qdisc = node.namespace().exec("tc", "qdisc", "show", "dev", "ext0");
    assertTrue(qdisc.contains("clsact"), qdisc);
  }

  /** The host program as it is attached without tcx; with another number it is another's. */
  private void addFilter(String handle, String priority) throws Exception {
    final Path object = Files.createTempFile("host-", ".o");
    try (var in = getClass().getResourceAsStream("/bpf/host.bpf.o")) {
      Files.write(object, in.readAllBytes());
      final String filter =
          "tc filter add dev ext0 ingress handle %s pref %s bpf direct-action obj %s program %s";
      node.namespace().exec(filter.formatted(handle, priority, object, "from_network").split(" "));
    } finally {
      Files.delete(object);
    }
  }

  /** What is recorded of it has tcx links. */
  @Test
  @KernelTest(since = "6.6")
  void shouldRemoveWhatTheFirstReleaseLeft() throws Exception {
    final Path release = Path.of(getClass().getResource("release-0.1.0").toURI());
    final Set<String> mounted = files(node.bpfRoot());
    VethPair.create(node.namespace(), "ext0", outside, "eth0");
    int id = 2;
    for (final String name : WORKLOADS) {
      final NetworkNamespace inside = NetworkNamespace.create(name);
      node.keep(inside);
      VethPair.create(node.namespace(), "wl-" + name, inside, "eth0");
      node.namespace()
          .exec(("ip route add 10.210.0." + id++ + " dev wl-" + name + " proto 169").split(" "));
    }
    node.namespace().exec("ip", "address", "add", "10.210.0.1/32", "dev", "lo");
    final Path state = release.resolve("state");
    for (final String file : files(state)) {
      if (Files.isRegularFile(state.resolve(file))) {
        Files.createDirectories(node.state().resolve(file).getParent());
        Files.copy(state.resolve(file), node.state().resolve(file));
      }
    }
    Files.createDirectories(node.state().resolve("bpf-cache/build-1"));
    Files.writeString(node.state().resolve("bpf-cache/" + "0".repeat(64) + ".bpf.o"), "x");
    node.namespace()
        .run(
            () -> {
              RecordedKernel.create(release, node.bpfRoot(), null);
              return null;
            });
    final Collection<Integer> programs = PinnedObjects.below(node.bpfRoot()).programs().values();

    final AgentProcess.Ended ended = cleanup("", "--force");
    final boolean hasState = Files.exists(node.state());
    Files.createDirectories(node.state());
    assertEquals(0, ended.status(), ended.output());
    assertEquals(mounted, files(node.bpfRoot()));
    assertFalse(hasState, ended.output());
    assertEquals("", node.namespace().exec("ip", "-N", "route", "show", "proto", "169"));
    final String addresses = node.namespace().exec("ip", "address", "show", "dev", "lo");
    assertFalse(addresses.contains("10.210.0.1/32"), addresses);
    awaitUnloaded(programs);
  }

  @Test
  void shouldSayThatNothingIsLeftWhereNoAgentHasRun() throws Exception {
    Files.delete(node.state());
    final AgentProcess.Ended ended = cleanup("");
    assertEquals(0, ended.status(), ended.output());
    assertEquals("nothing to remove: no agent has left anything on this node\n", ended.output());
    assertFalse(Files.exists(node.state()));
    Files.createDirectory(node.state());
  }

  private void addWhatIsOfOthers() throws IOException {
    final NetworkNamespace namespace = node.namespace();
    namespace.exec("ip", "link", "set", "lo", "up");
    namespace.exec("sysctl", "-qw", "net.ipv4.ip_forward=1");
    namespace.exec("ip", "address", "add", "10.210.0.9/32", "dev", "lo");
    namespace.exec("ip", "route", "add", "10.210.0.77/32", "dev", "lo", "proto", "static");
    Files.writeString(node.state().resolve("operators-own"), "x");
    Files.createDirectories(node.bpfRoot().resolve("other"));
    final int fd = MapCalls.create(MapSpec.of(MapType.HASH, "others", 4, 4, 1, 0));
    BpfFileSystem.pin(fd, node.bpfRoot().resolve("other/map"));
    Descriptors.close(fd);
  }

  /** The kernel frees a program after a grace period. */
  private static void awaitUnloaded(Collection<Integer> programs) throws InterruptedException {
    final long endNs = System.nanoTime() + RELEASE_NS;
    for (final int id : programs) {
      while (isLoaded(id)) {
        assertTrue(System.nanoTime() < endNs, "program " + id + " is still loaded");
        Thread.sleep(50);
      }
    }
  }

  private static boolean isLoaded(int id) {
    try (BpfProgram _ = BpfProgram.openById(id)) {
      return true;
    } catch (BindingsException gone) {
      return false;
    }
  }
}
