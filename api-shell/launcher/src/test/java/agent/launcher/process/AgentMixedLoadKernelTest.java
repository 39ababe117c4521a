package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import agent.testkit.VethPair;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tools.jackson.databind.JsonNode;

/**
 * 64 clients of mixed reads and writes: no error, no lost update, and a heap that is no fuller
 * after it than before. {@code -Dload.seconds} sets how long.
 */
@KernelTest
@Timeout(value = 30, unit = TimeUnit.MINUTES)
class AgentMixedLoadKernelTest {
  private static final int SECONDS = Integer.getInteger("load.seconds", 20);
  private static final int CLIENTS = 64;
  private static final int ENDPOINTS = 8;

  /** What may stay of caches and compiled code; a request leaves nothing. */
  private static final long HEAP_BOUND_BYTES = 12L << 20;

  private TestNode node;
  private AgentProcess agent;
  private final List<TestWorkload> workloads = new ArrayList<>();
  private final Queue<String> errors = new ConcurrentLinkedQueue<>();
  private final Map<String, List<Long>> latencies = new ConcurrentHashMap<>();

  /** One client: it owns one rule and one prefix, the first ones also the labels of an endpoint. */
  private final class Client implements Runnable {
    private final int number;
    private final Random random;
    private final long endNs;
    private int port;
    private boolean isDenied;
    private String label;

    Client(int number, long endNs) {
      this.number = number;
      this.endNs = endNs;
      random = new Random(number);
    }

    @Override
    public void run() {
      try {
        while (System.nanoTime() < endNs && errors.isEmpty()) {
          step();
        }
      } catch (IOException | RuntimeException e) {
        errors.add("client " + number + ": " + e);
      }
    }

    private void step() throws IOException {
      switch (random.nextInt(8)) {
        case 0, 1 -> putRule();
        case 2 -> changePrefix();
        case 3 -> {
          if (number < ENDPOINTS) {
            relabel();
          } else {
            putRule();
          }
        }
        case 4 -> timed(200, "GET", "/healthz", null);
        case 5 -> timed(200, "GET", "/endpoint", null);
        case 6 -> checkRule();
        default -> timed(200, "GET", "/map/ipcache4", null);
      }
    }

    private void putRule() throws IOException {
      port = 1 + random.nextInt(60_000);
      final ApiCall.Answer answer =
          timed(
              200,
              "PUT",
              "/policy?replace=true",
              """
              [{"endpointSelector": {"matchLabels": {"app": "a%d"}},
                "labels": [{"key": "owner", "value": "c%d"}],
                "ingress": [{"fromEndpoints": [{}],
                             "toPorts": [{"ports": [{"port": "%d", "protocol": "TCP"}]}]}]}]
              """
                  .formatted(number % ENDPOINTS, number, port));
      check(answer.json().get("policy").asString());
    }

    private void checkRule() throws IOException {
      if (port != 0) {
        check(
            timed(200, "GET", "/policy?labels=owner=c" + number, null)
                .json()
                .get("policy")
                .asString());
      }
    }

    private void check(String policy) {
      int found = 0;
      for (final JsonNode rule : new ApiCall.Answer(200, policy).json()) {
        if (rule.at("/labels/0/value").asString().equals("c" + number)) {
          found++;
          final String seen = rule.at("/ingress/0/toPorts/0/ports/0/port").asString();
          if (!seen.equals("" + port)) {
            errors.add("client " + number + " has port " + seen + " and not " + port);
          }
        }
      }
      if (found != 1) {
        errors.add("client " + number + " has " + found + " rules");
      }
    }

    private String prefix() {
      return "203.0.113." + number + "/32";
    }

    private void changePrefix() throws IOException {
      isDenied = !isDenied;
      final String answer =
          timed(
                  200,
                  isDenied ? "PATCH" : "DELETE",
                  "/prefilter",
                  "{\"deny\": [\"" + prefix() + "\"]}")
              .text();
      if (answer.contains("\"" + prefix() + "\"") != isDenied) {
        errors.add("client " + number + ": prefix " + isDenied + " in " + answer);
      }
    }

    private void relabel() throws IOException {
      label = "step=" + random.nextInt(40);
      final String answer =
          timed(
                  200,
                  "PATCH",
                  "/endpoint/" + workloads.get(number).id() + "/labels",
                  "{\"user\": [\"" + label + "\"]}")
              .text();
      if (!answer.contains(label)) {
        errors.add("client " + number + ": no " + label + " in " + answer);
      }
    }
  }

  private ApiCall.Answer timed(int status, String method, String path, String body)
      throws IOException {
    final long beginNs = System.nanoTime();
    final ApiCall.Answer answer = agent.call(method, path, body);
    final String what =
        method + " /" + path.split("[/?]")[1] + (path.endsWith("labels") ? "/labels" : "");
    final List<Long> all =
        latencies.computeIfAbsent(what, key -> Collections.synchronizedList(new ArrayList<>()));
    all.add(System.nanoTime() - beginNs);
    if (answer.status() != status) {
      errors.add(method + " " + path + ": " + answer.status() + " " + answer.text());
    }
    return answer;
  }

  @Test
  void shouldServeManyClientsWithoutErrorLostUpdateOrGrowingMemory() throws Exception {
    node = new TestNode();
    try {
      VethPair.create(node.namespace(), "ext0", node.namespace(), "ext1");
      agent = node.agent("--prefilter-device", "ext0", "--prefilter-mode", "generic");
      for (int i = 0; i < ENDPOINTS; i++) {
        workloads.add(node.workload(agent, "w" + i, "app=a" + i));
      }
      run(Math.min(5, SECONDS)); // what is loaded and cached once
      final long before = liveBytes();
      latencies.clear();
      final List<Client> clients = run(SECONDS);
      final long after = liveBytes();
      report();
      System.out.printf("live heap %d KiB before and %d KiB after%n", before >> 10, after >> 10);
      checkFinal(clients);
      assertTrue(
          after - before < HEAP_BOUND_BYTES, "the heap grew by " + (after - before) + " bytes");
    } finally {
      node.close();
    }
  }

  private List<Client> run(int seconds) throws Exception {
    final long endNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
    agent.expect(200, "DELETE", "/policy", null);
    final StringBuilder prefixes = new StringBuilder();
    final List<Client> clients = new ArrayList<>();
    final List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < CLIENTS; i++) {
      prefixes.append(i == 0 ? "" : ",").append("\"203.0.113." + i + "/32\"");
      clients.add(new Client(i, endNs));
    }
    agent.expect(200, "DELETE", "/prefilter", "{\"deny\": [" + prefixes + "]}");
    clients.forEach(client -> threads.add(Thread.ofPlatform().daemon().start(client)));
    for (final Thread thread : threads) {
      assertTrue(thread.join(Duration.ofSeconds(seconds + 120)), "a client without an answer");
    }
    assertEquals(List.of(), List.copyOf(errors));
    return clients;
  }

  private void checkFinal(List<Client> clients) throws IOException {
    final String policy = agent.expect(200, "GET", "/policy", null).json().get("policy").asString();
    final String list = agent.expect(200, "GET", "/prefilter", null).text();
    for (final Client client : clients) {
      if (client.port != 0) {
        client.check(policy);
      }
      assertEquals(client.isDenied, list.contains("\"" + client.prefix() + "\""), client.prefix());
      if (client.label != null) {
        final String labels =
            agent
                .expect(
                    200, "GET", "/endpoint/" + workloads.get(client.number).id() + "/labels", null)
                .text();
        assertTrue(labels.contains(client.label), labels);
      }
    }
    assertEquals(List.of(), List.copyOf(errors));
  }

  private void report() {
    latencies.forEach(
        (what, all) -> {
          final long[] sorted = all.stream().mapToLong(Long::longValue).sorted().toArray();
          System.out.printf(
              "%-26s %6d calls, %6.0f a second, p50 %7.2f ms, p99 %7.2f ms%n",
              what,
              sorted.length,
              sorted.length / (double) SECONDS,
              sorted[sorted.length / 2] / 1e6,
              sorted[(int) (sorted.length * 0.99)] / 1e6);
        });
  }

  /** Returns what a full collection leaves. */
  private long liveBytes() throws Exception {
    final Process histogram =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "jcmd").toString(),
                Long.toString(agent.pid()),
                "GC.class_histogram")
            .redirectErrorStream(true)
            .start();
    final String text =
        new String(histogram.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    final String total =
        text.lines()
            .filter(line -> line.startsWith("Total"))
            .findFirst()
            .orElseThrow(() -> new AssertionError(text));
    return Long.parseLong(Arrays.asList(total.strip().split("\\s+")).getLast());
  }
}
