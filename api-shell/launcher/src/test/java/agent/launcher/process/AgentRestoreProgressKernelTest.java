package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** An agent with many endpoints serves while it restores them, and says how far it is. */
@KernelTest
class AgentRestoreProgressKernelTest {
  /** So many that their restoration takes longer than a busy machine keeps this process waiting. */
  private static final int ENDPOINTS = 320;

  private static final long DEADLINE_NS = Duration.ofMinutes(3).toNanos();
  private static final Pattern PROGRESS = Pattern.compile("restoring: (\\d+) of (\\d+) endpoints");

  private TestNode node;
  private AgentProcess agent;

  @BeforeEach
  void createManyEndpoints() throws Exception {
    node = new TestNode();
    final NetworkNamespace inside = NetworkNamespace.create("many");
    node.keep(inside);
    final StringBuilder links = new StringBuilder();
    for (int i = 1; i <= ENDPOINTS; i++) {
      links.append(
          "link add m%d up type veth peer name e%d netns %s%n".formatted(i, i, inside.path()));
    }
    batch(node.namespace(), links.toString());
    final StringBuilder up = new StringBuilder();
    for (int i = 1; i <= ENDPOINTS; i++) {
      up.append("link set e%d up%n".formatted(i));
    }
    batch(inside, up.toString());
    agent = node.agent();
    for (int i = 1; i <= ENDPOINTS; i++) {
      agent.expect(201, "PUT", "/endpoint/" + i, request(i));
    }
    awaitReady();
  }

  @AfterEach
  void stop() throws Exception {
    node.close();
  }

  private static void batch(NetworkNamespace namespace, String lines) throws IOException {
    final Path file = Files.createTempFile("links", ".batch");
    try {
      namespace.exec("ip", "-batch", Files.writeString(file, lines).toString());
    } finally {
      Files.delete(file);
    }
  }

  private static String request(int number) {
    return """
    {"state": "waiting-for-identity", "interface-name": "m%d", "labels": ["app=many"],
     "addressing": {"ipv6": "fd00:210::%x"}}
    """
        .formatted(number, number + 16);
  }

  /** Returns how many endpoints have each state. */
  private Map<String, Integer> states() throws IOException {
    final Map<String, Integer> states = new TreeMap<>();
    for (final JsonNode endpoint : agent.expect(200, "GET", "/endpoint", null).json()) {
      states.merge(endpoint.at("/status/state").asString(), 1, Integer::sum);
    }
    return states;
  }

  private void awaitReady() throws Exception {
    final long startNs = System.nanoTime();
    Map<String, Integer> states = states();
    while (!states.equals(Map.of("ready", ENDPOINTS))) {
      assertTrue(System.nanoTime() - startNs < DEADLINE_NS, states + "\n" + agent.log());
      LockSupport.parkNanos(Duration.ofMillis(20).toNanos());
      states = states();
    }
  }

  private void awaitServed() throws Exception {
    final long startNs = System.nanoTime();
    while (true) {
      assertTrue(System.nanoTime() - startNs < DEADLINE_NS, agent.log());
      try {
        if (agent.call("GET", "/endpoint", null).status() == 200) {
          return;
        }
      } catch (IOException notYet) {
        // the socket is not there yet
      }
      LockSupport.parkNanos(Duration.ofMillis(5).toNanos());
    }
  }

  /** Returns how many endpoints are restored by the health, or -1 where none waits. */
  private int progress() throws IOException {
    final String message =
        agent.expect(200, "GET", "/healthz", null).json().at("/agent/msg").asString("");
    final Matcher progress = PROGRESS.matcher(message);
    if (!progress.find()) {
      return -1;
    }
    assertEquals(ENDPOINTS, Integer.parseInt(progress.group(2)));
    return Integer.parseInt(progress.group(1));
  }

  @Test
  void shouldServeAndShowItsProgressAndGoOnAfterAKill() throws Exception {
    agent.kill();
    agent = node.launch();
    awaitServed();
    final int first = progress();
    assertTrue(first >= 0 && first < ENDPOINTS, "restored: " + first);
    final Map<String, Integer> states = states();
    assertEquals(ENDPOINTS, states.values().stream().mapToInt(Integer::intValue).sum());
    assertTrue(states.containsKey("restoring"), states.toString());
    changeOneThatIsReady();
    final int later = progress();
    assertTrue(
        later >= first || later < 0 && states().equals(Map.of("ready", ENDPOINTS)),
        "the others are restored meanwhile: " + later);
    agent.kill();

    agent = node.launch();
    awaitServed();
    assertTrue(progress() >= 0, "killed in the middle");
    awaitReady();
    await(() -> progress() < 0); // the restoration ends soon after the last endpoint is ready
    assertEquals(List.of(), linksThatAreDown());
    assertTrue(label(1).contains("changed"), label(1));
    agent.terminate();
    agent = node.agent();
    awaitReady();
  }

  private void await(Callable<Boolean> condition) throws Exception {
    final long startNs = System.nanoTime();
    while (!condition.call()) {
      assertTrue(System.nanoTime() - startNs < DEADLINE_NS, agent.log());
      LockSupport.parkNanos(Duration.ofMillis(5).toNanos());
    }
  }

  private boolean isReady(int id) throws IOException {
    final JsonNode endpoint = agent.expect(200, "GET", "/endpoint/" + id, null).json();
    return endpoint.at("/status/state").asString().equals("ready");
  }

  /** The endpoints are restored in the order of their numbers. */
  private void changeOneThatIsReady() throws Exception {
    await(() -> isReady(1));
    agent.expect(200, "PATCH", "/endpoint/1/labels", "{\"user\": [\"is=changed\"]}");
    assertTrue(label(1).contains("changed"), label(1));
  }

  private String label(int id) throws IOException {
    return agent.expect(200, "GET", "/endpoint/" + id, null).json().at("/status/labels").toString();
  }

  private List<String> linksThatAreDown() {
    return node.namespace()
        .exec("ip", "-o", "link", "show", "type", "veth")
        .lines()
        .filter(line -> line.contains("state DOWN"))
        .toList();
  }
}
