package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.bpf.BpfFileSystem;
import agent.bindings.bpf.BpfLink;
import agent.bindings.bpf.BpfObject;
import agent.bindings.bpf.XdpMode;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.EntryBuffer;
import agent.maps.kernel.MapCursor;
import agent.maps.kernel.MapDefinitions;
import agent.testkit.KernelTest;
import agent.testkit.VethPair;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** What the guard of the datapath finds is in health, metrics and log until it is repaired. */
@KernelTest
class AgentGuardKernelTest {
  private static final String DEVICE = "ext0";
  private static final long DEADLINE_NS = Duration.ofSeconds(60).toNanos();
  private static final MapDefinitions MAPS = MapDefinitions.of("endpoint");

  private TestNode node;
  private AgentProcess agent;
  private TestWorkload workload;
  private BpfObject foreign;

  /** Something that is so sooner or later. */
  private interface Condition {
    boolean isTrue() throws Exception;
  }

  @BeforeEach
  void startAgent() throws Exception {
    node = new TestNode();
    try (InputStream in = getClass().getResourceAsStream("/bpf/trivial.bpf.o")) {
      foreign = BpfObject.open(in.readAllBytes(), "foreign");
    }
    node.keep(foreign::close);
    foreign.load();
    node.namespace()
        .ip(
            "link add " + DEVICE + " type veth peer name ext1",
            "link set " + DEVICE + " up",
            "link set ext1 up");
    agent =
        node.agent("--device", DEVICE, "--prefilter-device", DEVICE, "--prefilter-mode", "generic");
    workload = node.workload(agent, "guest", "app=guest");
    agent.expect(
        200,
        "PUT",
        "/policy",
        """
        [{"endpointSelector": {"matchLabels": {"app": "guest"}},
          "ingress": [{"fromEntities": ["host"]}]}]
        """);
    awaitStatus("Ok", "");
  }

  @AfterEach
  void stop() throws Exception {
    node.close();
  }

  private JsonNode json(String path) throws Exception {
    return agent.expect(200, "GET", path, null).json();
  }

  private void await(Condition condition, String what) throws Exception {
    final long startNs = System.nanoTime();
    while (!condition.isTrue()) {
      assertTrue(
          System.nanoTime() - startNs < DEADLINE_NS,
          what + "\n" + json("/healthz").get("agent") + "\n" + agent.log());
      LockSupport.parkNanos(Duration.ofMillis(10).toNanos());
    }
  }

  private void awaitStatus(String state, String message) throws Exception {
    await(
        () -> {
          final JsonNode status = json("/healthz").get("agent");
          return status.get("state").asString().equals(state)
              && status.path("msg").asString("").contains(message);
        },
        state + ": " + message);
  }

  private JsonNode guard() throws Exception {
    return json("/health")
        .get("modules")
        .valueStream()
        .filter(module -> module.get("module-id").asString().equals("dp-guard"))
        .findFirst()
        .orElseThrow();
  }

  private void assertGuard(String level, String message) throws Exception {
    final JsonNode guard = guard();
    assertEquals(level, guard.get("level").asString(), guard.toString());
    assertTrue(guard.get("message").asString().contains(message), guard.toString());
  }

  /**
   * Waits until status and guard have reported a fault, which may be repaired between two answers.
   */
  private void awaitWarning(String subject, String cause) throws Exception {
    final Set<String> seen = new TreeSet<>();
    await(
        () -> {
          final JsonNode status = json("/healthz").get("agent");
          if (status.get("state").asString().equals("Warning")
              && status.path("msg").asString("").contains(subject)) {
            seen.add("status");
          }
          final JsonNode guard = guard();
          if (guard.get("level").asString().equals("Degraded")
              && guard.get("message").asString().contains(cause)) {
            seen.add("guard");
          }
          return seen.size() == 2;
        },
        subject + " " + cause);
  }

  private long repairs(String kind) throws Exception {
    return json("/metrics/")
        .valueStream()
        .filter(metric -> metric.get("name").asString().equals("agent_repairs_total"))
        .filter(metric -> metric.at("/labels/kind").asString().equals(kind))
        .mapToLong(metric -> metric.get("value").asLong())
        .findFirst()
        .orElseThrow();
  }

  private Path pin(String path) {
    return node.bpfRoot().resolve("agent").resolve(path);
  }

  private long logged(String subject, String found) throws IOException {
    return agent
        .log()
        .lines()
        .filter(line -> line.contains(subject) && line.contains(found))
        .count();
  }

  @Test
  void shouldFailWhileAForeignProgramIsInThePrefiltersPlace() throws Exception {
    final long before = repairs("link");
    final int ifindex = VethPair.index(node.namespace(), DEVICE);
    final BpfLink taken;
    agent.suspend(); // else it can be quicker than the next program
    try (BpfLink link = BpfLink.openPinned(pin("devices/ext0/prefilter_generic")).orElseThrow()) {
      taken =
          node.namespace()
              .run(
                  () -> {
                    link.detach();
                    return BpfLink.createXdp(
                        foreign.program("trivial_xdp"), ifindex, XdpMode.GENERIC);
                  });
    } finally {
      agent.resume();
    }
    final String reason = "another XDP program is attached";
    awaitStatus("Failure", reason);
    assertGuard("Stopped", reason);
    assertEquals(ifindex, taken.info().ifindex(), "the foreign program is left alone");
    assertEquals(before, repairs("link"));
    taken.detach();
    taken.close();
    await(() -> repairs("link") == before + 1, "the prefilter is attached again");
    awaitStatus("Ok", "");
    assertGuard("OK", "");
    assertEquals(1, logged("prefilter", reason));
  }

  @Test
  @KernelTest(since = "6.6")
  void shouldFailWhileAForeignProgramIsPutFirstAgainAndAgain() throws Exception {
    final int ifindex = workload.veth().hostIfindex();
    for (int moves = 1; moves <= 3; moves++) {
      final int expected = moves;
      try (BpfLink first = first(ifindex)) {
        await(() -> repairs("program_order") == expected, "move " + expected);
        first.detach();
      }
    }
    final String path = "/endpoint/" + workload.id();
    try (BpfLink first = first(ifindex)) {
      awaitStatus("Failure", "moved 3 times");
      assertGuard("Stopped", "endpoint " + workload.id() + " to_endpoint");
      assertGuard("Stopped", "'trivial_tc'");
      await(() -> overall(path).equals("Failure"), "the endpoint's health");
      assertEquals("Failure", json(path + "/healthz").get("bpf").asString());
      assertEquals(ifindex, first.info().ifindex(), "the foreign program is left alone");
      assertEquals(3, repairs("program_order"));
      first.detach();
    }
    awaitStatus("Ok", "");
    await(() -> overall(path).equals("OK"), "the endpoint's health");
    assertEquals(3, logged("endpoint " + workload.id() + " to_endpoint", "moved before it again"));
  }

  private String overall(String path) throws Exception {
    return json(path + "/healthz").get("overallHealth").asString();
  }

  private BpfLink first(int ifindex) throws Exception {
    return node.namespace()
        .run(() -> BpfLink.createTcxFirst(foreign.program("trivial_tc"), ifindex, false));
  }

  @Test
  @KernelTest(since = "6.6")
  void shouldWarnOfADetachedLinkUntilItIsRepaired() throws Exception {
    final long before = repairs("link");
    final String subject = "endpoint " + workload.id() + " from_endpoint";
    try (BpfLink link =
        BpfLink.openPinned(pin("endpoints/" + workload.id() + "/from_endpoint")).orElseThrow()) {
      link.detach();
    }
    awaitWarning(subject, "detached");
    await(() -> repairs("link") == before + 1, "the link is attached again");
    awaitStatus("Ok", "");
    assertGuard("OK", "");
    await(() -> logged(subject, "attached again") > 0, "a line");
    assertEquals(1, logged(subject, "detached"));
  }

  @Test
  void shouldWarnOfADeletedPolicyEntryUntilItIsRepaired() throws Exception {
    final long before = repairs("map_entry");
    final int number = deleteEntry();
    final String subject = "map policy_%05d".formatted(number);
    awaitWarning(subject, "missing");
    await(() -> repairs("map_entry") == before + 1, "the entry is written again");
    await(() -> overall("/endpoint/" + workload.id()).equals("OK"), "the endpoint's health");
    awaitStatus("Ok", "");
    assertGuard("OK", "");
    await(() -> logged(subject, "repaired") > 0, "a line");
    assertEquals(1, logged(subject, "missing"));
  }

  /** Deletes an entry of the workload's policy map and returns the number of the map. */
  private int deleteEntry() {
    final Path pin = pin("maps/policy_%05d".formatted(workload.id()));
    try (BpfMap map =
            BpfMap.adopt(BpfFileSystem.open(pin), MAPS.policy(workload.id()), pin.toString());
        MapCursor cursor = new MapCursor()) {
      final EntryBuffer entry = new EntryBuffer(map);
      assertEquals(0, cursor.open(map));
      assertTrue(cursor.next());
      entry.key().putBytes(0, cursor.key(), 0, map.keySize());
      assertEquals(0, map.delete(entry));
    }
    return workload.id();
  }
}
