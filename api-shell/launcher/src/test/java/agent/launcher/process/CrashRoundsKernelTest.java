package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.fail;

import agent.bindings.bpf.SocketHook;
import agent.launcher.process.CrashApi.ShownEndpoint;
import agent.launcher.process.CrashClient.Trace;
import agent.launcher.process.CrashNode.CrashWorkload;
import agent.testkit.KernelTest;
import agent.testkit.TestControlGroup;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.ResourceLock;

/**
 * SIGKILL at random points of random calls and of the start, round after round on one node. After
 * each, the next run has and enforces every change that was answered with success and none that was
 * refused; a call that was not answered took place as a whole or not at all; API and kernel agree,
 * and nothing of a removed object is left. {@code crash.rounds} is the number of rounds, {@code
 * crash.seed} repeats their choices.
 */
@KernelTest(since = "6.6")
@ResourceLock(TestControlGroup.LOCK)
class CrashRoundsKernelTest {
  private static final int ROUNDS = Integer.getInteger("crash.rounds", 20);
  private static final long SEED = Long.getLong("crash.seed", System.nanoTime());
  private static final int REPORTED_ROUNDS = 20;
  private static final Duration LONGEST_ANSWER = Duration.ofSeconds(30);
  private static final int SHORTEST_START_MS = 700;
  private static final long LONGEST_SETTLE_MS = 30_000;

  private static final int HOOKS_OF_SOCKETS = SocketHook.values().length;

  private final Random random = new Random(SEED);
  private CrashNode node;
  private CrashKernel kernel;
  private CrashPackets packets;

  /** How long the latest start took; a loaded machine gets more time for calls, too. */
  private long startMs = SHORTEST_START_MS;

  @Test
  @Timeout(value = 60, unit = TimeUnit.MINUTES) // 200 rounds on a busy machine
  void shouldKeepWhatWasAnsweredOverSigkillAtAnyPoint() throws Exception {
    System.out.printf("crash rounds: %d of seed %d%n", ROUNDS, SEED);
    node = new CrashNode();
    try {
      kernel = new CrashKernel(node);
      packets = new CrashPackets(node);
      for (int round = 1; round <= ROUNDS; round++) {
        round(round);
        if (round % REPORTED_ROUNDS == 0) {
          System.out.printf("crash rounds: %d passed%n", round);
        }
      }
    } finally {
      if (packets != null) {
        packets.close();
      }
      node.close();
    }
  }

  private void round(int round) throws Exception {
    final Trace trace = new Trace();
    final List<String> logs = new ArrayList<>();
    try {
      switch (round % 6) {
        case 2 -> killDuringStart(trace, logs);
        case 5 -> killDuringCallsAfterStart(trace, logs);
        default -> killDuringCalls(trace, random.nextInt((int) startMs), logs);
      }
      final long beginNs = System.nanoTime();
      node.start().ready();
      startMs = Math.max(SHORTEST_START_MS, (System.nanoTime() - beginNs) / 1_000_000);
      final List<String> differences = new ArrayList<>(trace.unexpected());
      check(differences);
      if (!differences.isEmpty()) {
        fail(report(round, differences, trace, logs));
      }
    } catch (AssertionError failure) {
      throw failure;
    } catch (Exception failure) {
      throw new AssertionError(report(round, List.of(failure.toString()), trace, logs), failure);
    }
  }

  private void killDuringStart(Trace trace, List<String> logs) throws Exception {
    killDuringCalls(trace, random.nextInt((int) startMs), logs);
    node.start();
    Thread.sleep(random.nextInt((int) startMs));
    kill(trace, logs);
  }

  /** The clients call as soon as the agent serves. */
  private void killDuringCallsAfterStart(Trace trace, List<String> logs) throws Exception {
    kill(trace, logs);
    node.start();
    killDuringCalls(trace, startMs / 2 + random.nextInt((int) startMs), logs);
  }

  /** Runs the clients until the agent is killed. */
  private void killDuringCalls(Trace trace, long afterMs, List<String> logs) throws Exception {
    final AgentProcess agent = node.agent();
    final List<CrashWorkload> workloads = node.workloads();
    final int half = workloads.size() / 2;
    final List<CrashClient> clients =
        List.of(
            new CrashEndpointClient(agent, trace, random.nextLong(), workloads.subList(0, half)),
            new CrashEndpointClient(
                agent, trace, random.nextLong(), workloads.subList(half, workloads.size())),
            new CrashNodeClient(agent, trace, random.nextLong(), node),
            new CrashServiceClient(agent, trace, random.nextLong(), node));
    final List<Thread> threads = new ArrayList<>();
    for (final CrashClient client : clients) {
      threads.add(Thread.ofPlatform().name("crash-client").daemon().start(client));
    }
    Thread.sleep(afterMs);
    clients.forEach(CrashClient::stop);
    kill(trace, logs);
    for (final Thread thread : threads) {
      if (!thread.join(LONGEST_ANSWER)) {
        throw new IllegalStateException("a client still waits for an answer");
      }
    }
  }

  private void kill(Trace trace, List<String> logs) throws Exception {
    final AgentProcess agent = node.agent();
    agent.kill();
    trace.calls().add("SIGKILL");
    logs.add(agent.log());
    agent.close();
  }

  private void check(List<String> differences) throws Exception {
    final AgentProcess agent = node.agent();
    final Map<String, ShownEndpoint> endpoints = readyEndpoints(agent, differences);
    for (final CrashWorkload workload : node.workloads()) {
      final ShownEndpoint found = endpoints.get(workload.veth().hostInterface());
      add(differences, workload.endpoint().settle(found == null ? null : found.content()));
      if (found != null) {
        workload.lease().answered(null);
      }
      if (found != null && !workload.isWithoutAddress()) {
        expect(differences, "IPv4 address", workload.ipv4(), found.ipv4());
        expect(differences, "IPv6 address", workload.ipv6(), found.ipv6());
      }
    }
    add(differences, node.policy().settle(CrashApi.policy(agent)));
    add(differences, node.denyList().settle(CrashApi.denyList(agent)));
    final Map<Integer, CrashService> services = CrashApi.services(agent);
    node.services().forEach((id, service) -> add(differences, service.settle(services.remove(id))));
    expect(differences, "services of no call", Map.of(), services);
    checkLeases(agent, endpoints, differences);
    checkIdentities(endpoints, differences);
    checkKernel(endpoints, differences);
    checkFiles(endpoints, differences);
    if (differences.isEmpty()) {
      differences.addAll(packets.differences());
      checkObjects(agent, endpoints.values(), differences);
    }
  }

  /** An endpoint that was accepted and not built can be built after the start. */
  private static Map<String, ShownEndpoint> readyEndpoints(
      AgentProcess agent, List<String> differences) throws Exception {
    final long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(LONGEST_SETTLE_MS);
    while (true) {
      final Map<String, ShownEndpoint> endpoints = CrashApi.endpoints(agent);
      if (endpoints.values().stream().allMatch(endpoint -> endpoint.state().equals("ready"))) {
        return endpoints;
      }
      if (System.nanoTime() > deadline) {
        endpoints.forEach(
            (device, endpoint) -> expect(differences, device, "ready", endpoint.toString()));
        return endpoints;
      }
      Thread.sleep(10);
    }
  }

  private void checkLeases(
      AgentProcess agent, Map<String, ShownEndpoint> endpoints, List<String> differences)
      throws IOException {
    int expected = 2 * endpoints.size();
    for (final Map.Entry<String, CrashExpectation<String>> leased : node.leases().entrySet()) {
      final CrashExpectation<String> lease = leased.getValue();
      // What is leased without being expected is seen in the sum.
      final boolean isExpected = lease.known() != null || lease.isUnanswered();
      final String owner = isExpected ? CrashApi.owner(agent, leased.getKey()) : null;
      add(differences, lease.settle(owner == null ? null : owner.replace("'", "")));
      expected += owner == null ? 0 : 1;
    }
    expect(differences, "leases", expected, CrashApi.leases(agent));
  }

  /** Equal labels have one identity. */
  private static void checkIdentities(
      Map<String, ShownEndpoint> endpoints, List<String> differences) {
    final Map<String, Integer> found = new TreeMap<>();
    for (final ShownEndpoint endpoint : endpoints.values()) {
      final String labels = endpoint.content().app() + " " + endpoint.content().tier();
      final Integer other = found.putIfAbsent(labels, endpoint.identity());
      if (other != null) {
        expect(differences, "identity of " + labels, other, endpoint.identity());
      }
    }
  }

  /** What is needed is there at once; what is left over is removed soon after the start. */
  private void checkKernel(Map<String, ShownEndpoint> endpoints, List<String> differences)
      throws Exception {
    final Set<String> needed = kernel.needed(endpoints);
    final Set<String> missing = new TreeSet<>(needed);
    missing.removeAll(kernel.present());
    missing.forEach(line -> differences.add("missing in the kernel: " + line));
    await(
        differences,
        "left in the kernel: ",
        () -> {
          final Set<String> left = new TreeSet<>();
          try {
            left.addAll(kernel.present());
          } catch (IOException e) {
            left.add(e.toString());
          }
          left.removeAll(needed);
          return left;
        });
  }

  /** The agent may write one of its files meanwhile, beside which there is another one then. */
  private void checkFiles(Map<String, ShownEndpoint> endpoints, List<String> differences)
      throws InterruptedException {
    final Set<String> expected = new TreeSet<>();
    endpoints.values().forEach(endpoint -> expected.add(endpoint.content().id() + ".json"));
    final Set<String> services = new TreeSet<>();
    node.withService().forEach(id -> services.add(id + ".json"));
    await(differences, "left in the state directory: ", () -> filesBut(expected, services));
  }

  private Set<String> filesBut(Set<String> endpoints, Set<String> services) {
    final Set<String> left = new TreeSet<>();
    try (Stream<Path> files = Files.walk(node.node().state())) {
      for (final Path file : files.toList()) {
        final String name = file.getFileName().toString();
        final boolean isOfEndpoint = file.getParent().endsWith("endpoints");
        final boolean isOfService = file.getParent().endsWith("services");
        if (name.matches(".*\\.(new|tmp)|.*corrupt.*")
            || isOfEndpoint && !endpoints.contains(name)
            || isOfService && !services.contains(name)
            || file.getParent().endsWith("service-batches") && !isOfServices(name)) {
          left.add(file.toString());
        }
      }
    } catch (IOException | UncheckedIOException e) {
      left.add(e.toString());
    }
    return left;
  }

  /** Returns whether the name of a file has the numbers of services that exist. */
  private boolean isOfServices(String name) {
    return Stream.of(name.substring(0, name.indexOf('.')).split("-"))
        .allMatch(id -> node.withService().contains(Integer.parseInt(id)));
  }

  /**
   * Of each name the agent has one program and one map open; of the programs of endpoints, and of
   * their constants, one for each different set of options. Each open link is pinned.
   */
  private void checkObjects(
      AgentProcess agent, Collection<ShownEndpoint> endpoints, List<String> differences)
      throws Exception {
    final long options =
        Math.max(1, endpoints.stream().map(shown -> shown.content().debug()).distinct().count());
    final int links = linksOf(endpoints) + (node.withService().isEmpty() ? 0 : HOOKS_OF_SOCKETS);
    await(
        differences,
        "open BPF objects: ",
        () -> {
          final Map<String, Set<Integer>> open = OpenObjects.of(agent.pid());
          open.computeIfPresent(OpenObjects.LINKS, (name, ids) -> ids.size() > links ? ids : null);
          open.values().removeIf(ids -> ids.size() <= options);
          return open.isEmpty() ? Set.of() : Set.of(open.toString());
        });
  }

  /** Two links of each endpoint, and those of the device: two host programs and the prefilter. */
  private static int linksOf(Collection<ShownEndpoint> endpoints) {
    return 2 * endpoints.size() + 3;
  }

  private static void await(List<String> differences, String what, Supplier<Set<String>> remaining)
      throws InterruptedException {
    final long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(LONGEST_SETTLE_MS / 3);
    Set<String> left = remaining.get();
    while (!left.isEmpty() && System.nanoTime() < deadline) {
      Thread.sleep(20);
      left = remaining.get();
    }
    left.forEach(line -> differences.add(what + line));
  }

  private static void add(List<String> differences, String difference) {
    if (difference != null) {
      differences.add(difference);
    }
  }

  private static void expect(List<String> differences, String what, Object expected, Object found) {
    if (!expected.equals(found)) {
      differences.add(what + ": " + found + ", expected " + expected);
    }
  }

  private String report(int round, List<String> differences, Trace trace, List<String> logs)
      throws IOException {
    logs.add(node.agent().log());
    return "seed %d, round %d:\n  %s\nthe calls of the round:\n  %s\nthe logs of its runs:\n%s"
        .formatted(
            SEED,
            round,
            String.join("\n  ", differences),
            String.join("\n  ", trace.calls()),
            String.join("\n----\n", logs));
  }
}
