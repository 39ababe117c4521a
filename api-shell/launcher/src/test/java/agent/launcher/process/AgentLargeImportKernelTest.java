package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** An import of many CIDRs, and changes of an endpoint that it is not about. */
@KernelTest
class AgentLargeImportKernelTest {
  private static final int CIDRS = 40_000;
  private static final int CHANGES_ALONE = 50;

  private TestNode node;
  private AgentProcess agent;
  private TestWorkload other;
  private boolean isEnabled;

  @BeforeEach
  void startAgent() throws Exception {
    node = new TestNode();
    agent = node.agent("--bpf-policy-map-max", "65536");
    node.workload(agent, "web", "app=web");
    other = node.workload(agent, "other", "app=other");
  }

  @AfterEach
  void stop() throws Exception {
    node.close();
  }

  private static String rules() {
    return IntStream.range(0, CIDRS)
        .mapToObj(i -> "\"100.%d.%d.%d/32\"".formatted(64 + (i >> 16), i >> 8 & 0xff, i & 0xff))
        .collect(
            Collectors.joining(
                ",",
                "[{\"endpointSelector\": {\"matchLabels\": {\"app\": \"web\"}},"
                    + " \"ingress\": [{\"fromCIDR\": [",
                "]}]}]"));
  }

  /** Changes an option of the other endpoint; returns how long that takes. */
  private long change() throws Exception {
    isEnabled = !isEnabled;
    final String options =
        "{\"options\": {\"DropNotification\": \"%s\"}}"
            .formatted(isEnabled ? "Enabled" : "Disabled");
    final long beganNs = System.nanoTime();
    agent.expect(200, "PATCH", "/endpoint/" + other.id() + "/config", options);
    return System.nanoTime() - beganNs;
  }

  private static long longest(List<Long> times) {
    return times.stream().mapToLong(Long::longValue).max().orElseThrow();
  }

  private static String shown(List<Long> times) {
    final List<Long> sorted = times.stream().sorted().toList();
    return "%d changes, median %d us, longest %d us"
        .formatted(sorted.size(), sorted.get(sorted.size() / 2) / 1_000, longest(sorted) / 1_000);
  }

  @Test
  void shouldChangeAnotherEndpointWhileAnImportGoesOn() throws Exception {
    final List<Long> alone = new ArrayList<>();
    for (int i = 0; i < CHANGES_ALONE; i++) {
      alone.add(change());
    }
    final long beganNs = System.nanoTime();
    final CompletableFuture<Long> imported =
        CompletableFuture.supplyAsync(
            () -> {
              try {
                agent.expect(200, "PUT", "/policy", rules());
              } catch (Exception e) {
                throw new IllegalStateException(e);
              }
              return System.nanoTime() - beganNs;
            });
    final List<Long> beside = new ArrayList<>();
    while (!imported.isDone()) {
      beside.add(change());
    }
    final String seen =
        "alone: %s; beside an import of %d ms: %s"
            .formatted(shown(alone), imported.join() / 1_000_000, shown(beside));
    assertTrue(longest(beside) < imported.join() / 4, seen);
  }
}
