package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.TestControlGroup;
import agent.testkit.VethPair;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Another tool sets back each kernel parameter that has another value since the agent runs, and
 * removes each file that it has written, whatever they are: it is repaired or reported within
 * seconds.
 */
@KernelTest
class AgentEveryObjectKernelTest {
  private static final String DEVICE = "ext0";
  private static final long WITHIN_NS = TimeUnit.SECONDS.toNanos(8);

  /** What the kernel sets by itself with the parameters of the node, and what nothing follows. */
  private static final Set<String> OF_THE_KERNEL =
      Set.of(
          "ipv4/conf/default/forwarding", // of devices to come; host sides have their own
          "ipv6/conf/default/forwarding",
          "ipv4/conf/lo/forwarding", // nothing that lo receives is forwarded
          "ipv6/conf/lo/forwarding",
          "ipv4/conf/all/accept_redirects"); // a router takes none by default

  /** IPv6 is forwarded where the node forwards; that of a device says who advertises. */
  private static final String OF_DEVICES = "ipv6/conf/[^/]+/forwarding";

  /** The names of the files, which the next start adds again. */
  private static final String OF_THE_NEXT_START = "written/.*";

  private TestNode node;
  private TestControlGroup group;
  private AgentProcess agent;

  @BeforeEach
  void create() throws IOException {
    node = new TestNode();
    final NetworkNamespace outside = NetworkNamespace.create("outside");
    node.keep(outside);
    VethPair.create(node.namespace(), DEVICE, outside, "eth0");
    node.namespace()
        .ip(
            "address add 192.0.2.1/24 dev " + DEVICE,
            "address add 2001:db8::1/64 dev " + DEVICE + " nodad");
    group = TestControlGroup.create();
    node.keep(group);
  }

  @AfterEach
  void remove() throws IOException {
    node.close();
  }

  private void start() throws Exception {
    agent =
        node.agent(
            "--cgroup-root",
            group.path().toString(),
            "--device",
            DEVICE,
            "--masquerade",
            "--prefilter-device",
            DEVICE,
            "--prefilter-mode",
            "generic");
  }

  private void change() throws IOException {
    agent.expect(
        200,
        "PUT",
        "/policy",
        """
        [{"endpointSelector": {"matchLabels": {"app": "guest"}},
          "ingress": [{"fromEntities": ["host"]}]}]
        """);
    agent.expect(
        201,
        "PUT",
        "/service/7",
        """
        {"id": 7, "frontend-address": {"ip": "10.99.0.1", "port": 80, "protocol": "TCP"},
         "backend-addresses": [{"ip": "192.0.2.9", "port": 8080}]}
        """);
    agent.expect(200, "PATCH", "/prefilter", "{\"deny\": [\"198.51.100.0/24\"]}");
  }

  @Test
  void shouldSetEachKernelParameterAgain() throws Exception {
    final TreeMap<String, String> before = parameters();
    start();
    final TestWorkload workload = node.plumbed(agent, "guest", "app=guest");
    parameters().forEach(before::putIfAbsent); // those of the interface
    agent.expect(201, "PUT", "/endpoint/0", workload.request());
    change();
    final TreeMap<String, String> set = parameters();
    set.keySet().retainAll(before.keySet());
    set.entrySet().removeIf(one -> one.getValue().equals(before.get(one.getKey())));
    set.keySet().removeAll(OF_THE_KERNEL);
    set.keySet().removeIf(name -> name.matches(OF_DEVICES) && !name.contains("/all/"));
    assertTrue(
        set.keySet()
            .containsAll(
                List.of(
                    "ipv4/ip_forward",
                    "ipv6/conf/all/forwarding",
                    "ipv4/conf/" + DEVICE + "/forwarding",
                    "ipv6/conf/" + DEVICE + "/accept_ra")),
        set::toString);
    final List<String> unnoticed = new ArrayList<>();
    for (final String name : set.keySet()) {
      set(name, before.get(name));
      if (!isSoon(() -> parameters().get(name).equals(set.get(name)))) {
        unnoticed.add(name);
      }
    }
    assertEquals(List.of(), unnoticed, this::log);
  }

  /** Returns the writable parameters of the node's namespace. */
  private TreeMap<String, String> parameters() throws Exception {
    return node.namespace()
        .run(
            () -> {
              final TreeMap<String, String> found = new TreeMap<>();
              final Path root = Path.of("/proc/sys/net");
              for (final String family : List.of("ipv4", "ipv6", "core")) {
                try (Stream<Path> files = Files.walk(root.resolve(family))) {
                  for (final Path file : files.filter(path -> Files.isRegularFile(path)).toList()) {
                    read(file, root.relativize(file).toString(), found);
                  }
                }
              }
              return found;
            });
  }

  private static void read(Path file, String name, TreeMap<String, String> found) {
    try (InputStream in = Files.newInputStream(file)) {
      found.put(name, new String(in.readNBytes(4096)).trim());
    } catch (IOException isWriteOnly) {
      found.remove(name);
    }
  }

  private void set(String name, String value) throws Exception {
    node.namespace().run(() -> Files.writeString(Path.of("/proc/sys/net").resolve(name), value));
  }

  @Test
  void shouldReportEachFileThatIsRemoved() throws Exception {
    start();
    node.workload(agent, "guest", "app=guest");
    change();
    assertTrue(isSoon(() -> state().equals("Ok")), this::log);
    final Path aside = Files.createTempDirectory("agent-aside-");
    node.keep(() -> Files.delete(aside));
    final List<Path> files = files();
    assertFalse(files.isEmpty());
    final List<String> unnoticed = new ArrayList<>();
    for (final Path file : files) {
      final Path kept = aside.resolve("kept");
      Files.move(file, kept);
      final boolean isApi = file.endsWith("agent.sock"); // by which nothing can be asked
      if (!isSoon(() -> Files.exists(file) || !isApi && !state().equals("Ok"))) {
        unnoticed.add(file + " is removed");
      }
      if (Files.exists(file)) {
        Files.delete(kept);
      } else {
        Files.move(kept, file);
      }
      if (!isSoon(() -> state().equals("Ok"))) {
        unnoticed.add(file + " is there again");
      }
    }
    assertEquals(List.of(), unnoticed, this::log);
  }

  /** Returns what the agent has written below its state directory. */
  private List<Path> files() throws IOException {
    try (Stream<Path> files = Files.walk(node.state())) {
      return files
          .filter(path -> !Files.isDirectory(path))
          .filter(path -> !node.state().relativize(path).toString().matches(OF_THE_NEXT_START))
          .sorted()
          .toList();
    }
  }

  private String state() throws IOException {
    return agent.expect(200, "GET", "/healthz", null).json().at("/agent/state").asString();
  }

  /** Something that is so sooner or later. */
  private interface Condition {
    boolean isTrue() throws Exception;
  }

  private static boolean isSoon(Condition condition) throws Exception {
    final long startNs = System.nanoTime();
    boolean isTrue = condition.isTrue();
    while (!isTrue && System.nanoTime() - startNs < WITHIN_NS) {
      Thread.sleep(50);
      isTrue = condition.isTrue();
    }
    return isTrue;
  }

  private String log() {
    try {
      return agent.log();
    } catch (IOException failure) {
      return failure.toString();
    }
  }
}
