package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** The changes of callers at a time share syncs of the disk, and SIGKILL follows their answers. */
@KernelTest
class AgentStoreKernelTest {
  private static final int CALLERS = 8;
  private static final int ANSWERS = 5 * CALLERS;
  private static final Duration LONGEST = Duration.ofSeconds(60);
  private static final String POLICY =
      """
      [{"endpointSelector": {"matchLabels": {"app": "store"}},
        "labels": [{"key": "name", "value": "%s", "source": "user"}],
        "ingress": [{"fromEntities": ["host"]}]}]
      """;

  private final Set<String> endpoints = ConcurrentHashMap.newKeySet(); // by their interfaces
  private final Set<String> rules = ConcurrentHashMap.newKeySet(); // by their names
  private final Map<String, String> leases = new ConcurrentHashMap<>(); // owners by address
  private final Set<String> failures = ConcurrentHashMap.newKeySet();
  private final CountDownLatch answers = new CountDownLatch(ANSWERS);

  @Test
  void shouldHaveAllThatWasAnsweredAndNoHalfOfWhatWasNot() throws Exception {
    try (TestNode node = new TestNode()) {
      final AgentProcess first = node.agent();
      final List<TestWorkload> workloads = new ArrayList<>();
      for (int i = 0; i < CALLERS; i++) {
        workloads.add(node.plumbed(first, "store" + i, "app=store"));
      }
      final List<Thread> callers = new ArrayList<>();
      for (final TestWorkload workload : workloads) {
        callers.add(Thread.ofPlatform().daemon().start(() -> change(first, workload)));
      }
      assertTrue(answers.await(LONGEST.toSeconds(), TimeUnit.SECONDS));
      assertEquals(Set.of(), failures);
      first.kill();
      for (final Thread caller : callers) {
        assertTrue(caller.join(LONGEST));
      }
      assertEquals(Set.of(), failures);
      check(node.agent());
    }
  }

  /** Creates an endpoint, imports a rule, and has addresses leased until the agent is killed. */
  private void change(AgentProcess agent, TestWorkload workload) {
    final String name = workload.veth().hostInterface();
    try {
      agent.expect(201, "PUT", "/endpoint/0", workload.request());
      endpoints.add(name);
      answers.countDown();
      agent.expect(200, "PUT", "/policy", POLICY.formatted(name));
      rules.add(name);
      answers.countDown();
      while (true) {
        final var lease = agent.expect(201, "POST", "/ipam?owner=of-" + name, null).json();
        leases.put(lease.at("/ipv4/ip").asString(), "of-" + name);
        leases.put(lease.at("/ipv6/ip").asString(), "of-" + name);
        answers.countDown();
      }
    } catch (IOException killed) {
      return;
    } catch (AssertionError | RuntimeException failure) {
      failures.add(failure.toString());
      while (answers.getCount() > 0) {
        answers.countDown(); // the test ends
      }
    }
  }

  private void check(AgentProcess next) throws Exception {
    final Set<String> lost = new TreeSet<>(endpoints);
    lost.removeAll(CrashApi.endpoints(next).keySet());
    final String text = next.expect(200, "GET", "/policy", null).text();
    rules.stream().filter(name -> !text.contains(name)).forEach(lost::add);
    final Map<String, String> leased = new TreeMap<>();
    next.expect(200, "GET", "/healthz", null)
        .json()
        .at("/ipam/allocations")
        .properties()
        .forEach(lease -> leased.put(lease.getKey(), lease.getValue().asString()));
    leases.forEach(
        (address, owner) -> {
          if (!owner.equals(leased.get(address))) {
            lost.add(address + " " + owner);
          }
        });
    assertEquals(Set.of(), lost);
    final Map<String, Integer> families = new TreeMap<>();
    leased.forEach(
        (address, owner) -> families.merge(owner, address.indexOf(':') < 0 ? 1 : -1, Integer::sum));
    assertEquals(Set.of(0), Set.copyOf(families.values()), "each lease has both families");
  }
}
