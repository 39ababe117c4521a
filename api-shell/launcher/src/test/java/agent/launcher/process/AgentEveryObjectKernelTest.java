package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
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
  private static final long WITHIN_NS = TimeUnit.SECONDS.toNanos(15);

  /** What the kernel sets by itself with the parameters of the node, and what nothing follows. */
  private static final Set<String> OF_THE_KERNEL =
      Set.of(
          "ipv4/conf/default/forwarding", // of devices to come; host sides have their own
          "ipv6/conf/default/forwarding",
          "ipv4/conf/lo/forwarding", // nothing that lo receives is forwarded
          "ipv6/conf/lo/forwarding");

  /** IPv6 is forwarded where the node forwards; that of a device says who advertises. */
  private static final String OF_DEVICES = "ipv6/conf/[^/]+/forwarding";

  private TestNode node;
  private AgentProcess agent;

  @BeforeEach
  void create() throws IOException {
    node = new TestNode();
    node.namespace()
        .ip(
            "link add " + DEVICE + " type veth peer name ext1",
            "link set " + DEVICE + " up",
            "address add 192.0.2.1/24 dev " + DEVICE,
            "address add 2001:db8::1/64 dev " + DEVICE + " nodad",
            "link set ext1 up");
  }

  @AfterEach
  void remove() throws IOException {
    node.close();
  }

  private void start() throws Exception {
    agent =
        node.agent(
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
    for (final String name : set.keySet()) {
      set(name, before.get(name));
      await(() -> parameters().get(name).equals(set.get(name)), name);
    }
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
    try {
      found.put(name, new String(Files.newInputStream(file).readNBytes(4096)).trim());
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
    await(() -> state().equals("Ok"), "the beginning");
    final Path aside = Files.createTempDirectory("agent-aside-");
    node.keep(() -> Files.delete(aside));
    final List<Path> files = files();
    assertFalse(files.isEmpty());
    for (final Path file : files) {
      final Path kept = aside.resolve("kept");
      Files.move(file, kept);
      await(() -> Files.exists(file) || !state().equals("Ok"), "removed: " + file);
      if (Files.exists(file)) {
        Files.delete(kept);
      } else {
        Files.move(kept, file);
      }
      await(() -> state().equals("Ok"), "there again: " + file);
    }
    assertEquals(files, files());
  }

  /** Returns what the agent has written below its state directory. */
  private List<Path> files() throws IOException {
    try (Stream<Path> files = Files.walk(node.state())) {
      return files.filter(path -> !Files.isDirectory(path)).sorted().toList();
    }
  }

  private String state() throws IOException {
    return agent.expect(200, "GET", "/healthz", null).json().at("/agent/state").asString();
  }

  /** Something that is so sooner or later. */
  private interface Condition {
    boolean isTrue() throws Exception;
  }

  private void await(Condition condition, String what) throws Exception {
    final long startNs = System.nanoTime();
    while (!condition.isTrue()) {
      assertTrue(System.nanoTime() - startNs < WITHIN_NS, () -> what + "\n" + log());
      Thread.sleep(50);
    }
  }

  private String log() {
    try {
      return agent.log();
    } catch (IOException failure) {
      return failure.toString();
    }
  }
}
