package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** Many callers create and delete many endpoints at a time. */
@KernelTest
class AgentMassDeletionKernelTest {
  private static final int ENDPOINTS = 60;
  private static final int CALLERS = 8;

  /** Of all endpoints, so that the agent has work when it is to end. */
  private static final int ANSWERED = 12;

  private static final long LONGEST_STOP_MS = 10_000;

  private TestNode node;
  private AgentProcess agent;
  private final Set<Integer> deleted = new ConcurrentSkipListSet<>();

  @BeforeEach
  void start() throws Exception {
    node = new TestNode();
    final NetworkNamespace inside = NetworkNamespace.create("mass");
    node.keep(inside);
    final StringBuilder links = new StringBuilder();
    for (int i = 1; i <= ENDPOINTS; i++) {
      links.append(
          "link add m%d up type veth peer name e%d netns %s%n".formatted(i, i, inside.path()));
    }
    final Path file = Files.createTempFile("links", ".batch");
    try {
      node.namespace().exec("ip", "-batch", Files.writeString(file, links).toString());
    } finally {
      Files.delete(file);
    }
    agent = node.agent();
  }

  @AfterEach
  void stop() throws Exception {
    node.close();
  }

  private interface Call {
    void of(int id) throws IOException;
  }

  /** Makes a call for each endpoint, several at a time; one that fails ends its caller. */
  private static ExecutorService callers(Call call) {
    final AtomicInteger next = new AtomicInteger();
    final ExecutorService callers = Executors.newFixedThreadPool(CALLERS);
    for (int i = 0; i < CALLERS; i++) {
      callers.execute(
          () -> {
            try {
              for (int id = next.incrementAndGet(); id <= ENDPOINTS; id = next.incrementAndGet()) {
                call.of(id);
              }
            } catch (IOException | AssertionError ending) {
              // what was not answered is not known
            }
          });
    }
    callers.shutdown();
    return callers;
  }

  private static void await(ExecutorService callers) throws InterruptedException {
    assertTrue(callers.awaitTermination(2, TimeUnit.MINUTES));
  }

  private static String request(int id) {
    return """
    {"state": "waiting-for-identity", "sync-build-endpoint": true, "interface-name": "m%d",
     "labels": ["app=mass%d"],
     "addressing": {"ipv4": "10.210.0.%d", "ipv6": "fd00:210::%x"}}
    """
        .formatted(id, id, id + 16, id + 16);
  }

  private Set<Integer> present(AgentProcess of) throws IOException {
    final Set<Integer> ids = new TreeSet<>();
    for (final JsonNode endpoint : of.expect(200, "GET", "/endpoint", null).json()) {
      ids.add(endpoint.get("id").asInt());
    }
    return ids;
  }

  @Test
  void shouldEndWithinSecondsWhileItDeletesManyAndKeepWhatItAnswered() throws Exception {
    await(callers(id -> agent.expect(201, "PUT", "/endpoint/" + id, request(id))));
    final Set<Integer> all = present(agent);
    assertEquals(ENDPOINTS, all.size());

    final CountDownLatch some = new CountDownLatch(ANSWERED);
    final ExecutorService deleting =
        callers(
            id -> {
              agent.expect(200, "DELETE", "/endpoint/" + id, null);
              deleted.add(id);
              some.countDown();
            });
    assertTrue(some.await(1, TimeUnit.MINUTES));
    final long beginNs = System.nanoTime();
    assertEquals(0, agent.terminate(), agent.log());
    final long tookMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - beginNs);
    assertTrue(tookMs < LONGEST_STOP_MS, "ended after " + tookMs + " ms");
    await(deleting);
    final Set<Integer> answered = new TreeSet<>(deleted);
    assertTrue(answered.size() < ENDPOINTS, "all were deleted before");

    final AgentProcess next = node.agent();
    final Set<Integer> left = present(next);
    final Set<Integer> returned = new TreeSet<>(left);
    returned.retainAll(answered);
    assertEquals(Set.of(), returned);
    assertTrue(left.size() >= ENDPOINTS - answered.size() - CALLERS, left + " of " + all);
    final List<String> leased = new ArrayList<>();
    for (final JsonNode endpoint : next.expect(200, "GET", "/endpoint", null).json()) {
      leased.add(endpoint.at("/status/networking/addressing/0/ipv4").asString());
    }
    for (final int id : answered) {
      assertTrue(!leased.contains("10.210.0." + (id + 16)), leased.toString());
      next.expect(200, "POST", "/ipam/10.210.0." + (id + 16), null);
      next.expect(200, "POST", "/ipam/fd00:210::" + Integer.toHexString(id + 16), null);
    }
  }
}
