package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.bpf.LibBpf;
import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.VethPair;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** Endpoints come and go through the API, and leave nothing. */
@KernelTest
class AgentLifeKernelTest {
  private static final int ROUNDS = 100;

  private static TestNode node;
  private static AgentProcess agent;
  private static NetworkNamespace inside;
  private static TestWorkload workload;

  @BeforeAll
  static void startAgent() throws Exception {
    node = new TestNode();
    agent = node.agent();
    inside = NetworkNamespace.create("guest");
    node.keep(inside);
    final VethPair veth = VethPair.create(node.namespace(), "wl-guest", inside, "eth0");
    final JsonNode lease = agent.expect(201, "POST", "/ipam?owner=guest", null).json();
    workload = TestWorkload.plumb(inside, veth, lease.get("ipv4"), lease.get("ipv6"), "app=guest");
  }

  @AfterAll
  static void stop() throws Exception {
    if (node != null) {
      node.close();
    }
  }

  @Test
  void shouldLeaveNothingAfterAHundredEndpoints() throws Exception {
    for (int i = 0; i < 5; i++) {
      createAndDelete();
    }
    LibBpf.ensureLoaded();
    final Set<String> pinsBefore = pins();
    final Holdings before = Holdings.of(agent);
    for (int i = 0; i < ROUNDS; i++) {
      createAndDelete();
    }
    assertEquals(pinsBefore, pins());
    Holdings after = Holdings.of(agent);
    for (int i = 0; i < 300 && !after.equals(before); i++) {
      Thread.sleep(100); // the kernel frees programs and maps behind a grace period
      after = Holdings.of(agent);
    }
    assertEquals(before, after);
    assertEquals(0, agent.expect(200, "GET", "/endpoint", null).json().size());
    agent.expect(404, "GET", "/identity/endpoints", null);
  }

  private static void createAndDelete() throws IOException {
    final int id =
        agent.expect(201, "PUT", "/endpoint/0", workload.request()).json().get("id").asInt();
    agent.expect(200, "DELETE", "/endpoint/" + id, null);
  }

  private static Set<String> pins() throws IOException {
    try (Stream<Path> pins = Files.walk(node.bpfRoot())) {
      return pins.map(Path::toString).collect(Collectors.toCollection(TreeSet::new));
    }
  }

  /** What the agent's process holds, by kind: descriptors of maps, programs, links, and others. */
  private record Holdings(Set<String> kernelObjects, long descriptors) {
    static Holdings of(AgentProcess agent) throws IOException {
      final Set<String> objects = new TreeSet<>();
      long descriptors = 0;
      try (Stream<Path> files = Files.list(Path.of("/proc/" + agent.pid() + "/fd"))) {
        for (final Path file : files.toList()) {
          final Path target = Path.of("/proc/" + agent.pid() + "/fdinfo/" + file.getFileName());
          try {
            Files.readAllLines(target).stream()
                .filter(line -> line.matches("(map|prog|link)_id:.*"))
                .forEach(objects::add);
            descriptors++;
          } catch (NoSuchFileException closedSinceTheList) {
            continue;
          }
        }
      }
      return new Holdings(objects, descriptors);
    }
  }

  @Test
  void shouldRefuseWhatIsTakenAndGiveItBackOnDelete() throws Exception {
    final JsonNode created = agent.expect(201, "PUT", "/endpoint/0", workload.request()).json();
    final int id = created.get("id").asInt();
    assertEquals("ready", created.at("/status/state").asString());
    assertEquals("OK", created.at("/status/health/overallHealth").asString());
    agent.expect(409, "PUT", "/endpoint/" + id, workload.request());
    agent.expect(409, "PUT", "/endpoint/0", workload.request());
    agent.expect(409, "DELETE", "/ipam/" + workload.ipv4(), null);
    final int identity = created.at("/status/identity/id").asInt();
    assertTrue(identity >= 256, "identity " + identity);
    agent.expect(200, "GET", "/identity/" + identity, null);

    agent.expect(200, "DELETE", "/endpoint/" + id, null);
    agent.expect(404, "GET", "/endpoint/" + id, null);
    agent.expect(404, "GET", "/identity/" + identity, null);
    agent.expect(200, "POST", "/ipam/" + workload.ipv4(), null);
    agent.expect(200, "DELETE", "/ipam/" + workload.ipv4(), null);
  }
}
