package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import agent.testkit.VethPair;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.IntFunction;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * No request ends the agent, with the heap that it is installed with: what would not fit is refused
 * by name, what is held can be read by several clients at a time, and others are served meanwhile.
 */
@KernelTest
@Timeout(300)
class AgentLimitsKernelTest {
  private static final int LARGEST_BODY = 16 << 20;
  private static final int PREFIXES = 900_000;

  private TestNode node;
  private AgentProcess agent;

  @BeforeEach
  void startAgent() throws Exception {
    node = new TestNode();
    VethPair.create(node.namespace(), "ext0", node.namespace(), "ext1");
    start();
  }

  private void start() throws Exception {
    agent = node.agent("--prefilter-device", "ext0", "--prefilter-mode", "generic");
  }

  @AfterEach
  void stop() throws Exception {
    node.close();
  }

  /** Repeats an element until the body has its largest size. */
  private static String filled(String begin, IntFunction<String> element, int most, String end) {
    final StringBuilder body = new StringBuilder(LARGEST_BODY).append(begin);
    for (int i = 0; i < most; i++) {
      final String next = element.apply(i);
      if (body.length() + next.length() + end.length() + 1 > LARGEST_BODY) {
        break;
      }
      body.append(i == 0 ? "" : ",").append(next);
    }
    return body.append(end).toString();
  }

  private static String cidr(int i) {
    return "\"" + (10 + (i >> 16)) + "." + (i >> 8 & 0xff) + "." + (i & 0xff) + ".1\"";
  }

  private void assertRefused(String message, String method, String path, String body)
      throws IOException {
    final ApiCall.Answer answer = agent.expect(413, method, path, body);
    assertTrue(answer.text().contains(message), answer.text());
    agent.expect(200, "GET", "/healthz", null);
  }

  @Test
  void shouldRefuseBodiesOfMoreThanItHolds() throws Exception {
    final int many = Integer.MAX_VALUE;
    assertRefused(
        "more than 20000 rules in one request (--max-policy-rules)",
        "PUT",
        "/policy",
        filled("[", i -> "{}", many, "]"));
    assertRefused(
        "more than 50000 CIDRs in one request (--max-policy-cidrs)",
        "PUT",
        "/policy",
        filled(
            "[{\"endpointSelector\":{},\"ingress\":[{\"fromCIDR\":[",
            AgentLimitsKernelTest::cidr,
            PREFIXES,
            "]}]}]"));
    assertRefused(
        "more than 100000 peers and ports in one request (--max-policy-peers)",
        "PUT",
        "/policy",
        filled("[{\"endpointSelector\":{},\"ingress\":[", i -> "{}", many, "]}]"));
    assertRefused(
        "more than 100000 labels in one request (--max-policy-labels)",
        "PUT",
        "/policy",
        filled(
            "[{\"endpointSelector\":{\"matchLabels\":{",
            i -> "\"" + i + "\":\"\"",
            many,
            "}},\"ingress\":[]}]"));
    assertRefused(
        "more than 1000000 prefixes in one request (--max-prefixes)",
        "PATCH",
        "/prefilter",
        filled("{\"deny\":[", i -> "\"1.1.1.1\"", many, "]}"));
    assertRefused(
        "labels and options in one request (--max-labels)",
        "PUT",
        "/endpoint/0",
        filled("{\"state\":\"ready\",\"labels\":[", i -> "\"\"", many, "]}"));
    assertEquals("[]", agent.expect(200, "GET", "/policy", null).json().get("policy").asString());
  }

  @Test
  void shouldServeOthersWhileManySendTheLargestBody() throws Exception {
    final String body = filled("[", i -> "{}", Integer.MAX_VALUE, "]");
    final List<CompletableFuture<Integer>> clients = new ArrayList<>();
    for (int i = 0; i < 12; i++) {
      clients.add(
          CompletableFuture.supplyAsync(
              () -> status(agent, "PUT", "/policy", body), Thread::startVirtualThread));
    }
    while (clients.stream().anyMatch(client -> !client.isDone())) {
      agent.expect(200, "GET", "/healthz", null);
    }
    for (final CompletableFuture<Integer> client : clients) {
      assertEquals(413, client.get());
    }
  }

  private static int status(AgentProcess agent, String method, String path, String body) {
    try {
      return agent.call(method, path, body).status();
    } catch (IOException e) {
      return 0;
    }
  }

  @Test
  void shouldShowALongPrefilterListToSeveralClientsAtATime() throws Exception {
    final String list = filled("{\"deny\":[", AgentLimitsKernelTest::cidr, PREFIXES, "]}");
    assertEquals(200, status(agent, "PATCH", "/prefilter", list));
    readTogether("/prefilter", 4);
    final ApiCall.Answer more =
        agent.expect(
            413,
            "PATCH",
            "/prefilter",
            filled("{\"deny\":[", i -> cidr(PREFIXES + 100_000 + i), 200_000, "]}"));
    assertTrue(more.text().contains("the limit is 1000000 (--max-prefixes)"), more.text());
    agent.kill();
    start();
    readTogether("/prefilter", 2);
    assertEquals(200, status(agent, "DELETE", "/prefilter", list));
    agent.expect(200, "GET", "/map", null);
  }

  /** Reads the same answer by several clients at a time, while another one is served. */
  private void readTogether(String path, int count) throws Exception {
    final AtomicBoolean stop = new AtomicBoolean();
    final CompletableFuture<Long> other =
        CompletableFuture.supplyAsync(
            () -> {
              long slowestMs = 0;
              while (!stop.get()) {
                final long beginNs = System.nanoTime();
                assertEquals(200, status(agent, "GET", "/healthz", null));
                slowestMs = Math.max(slowestMs, (System.nanoTime() - beginNs) / 1_000_000);
              }
              return slowestMs;
            },
            Thread::startVirtualThread);
    final List<CompletableFuture<Integer>> readers = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      readers.add(
          CompletableFuture.supplyAsync(
              () -> {
                try {
                  final ApiCall.Answer answer = agent.expect(200, "GET", path, null);
                  assertTrue(answer.text().endsWith("}"), "the answer is complete");
                  return answer.text().length();
                } catch (IOException e) {
                  throw new UncheckedIOException(e);
                }
              },
              Thread::startVirtualThread));
    }
    for (final CompletableFuture<Integer> reader : readers) {
      assertTrue(reader.get() > 10 << 20, "a large answer");
      assertEquals(readers.getFirst().get(), reader.get());
    }
    stop.set(true);
    System.out.printf("%s by %d clients: another waited %d ms at most%n", path, count, other.get());
  }

  private static String describedRule(int number, int characters) {
    return "{\"endpointSelector\":{\"matchLabels\":{\"app\":\"none\"}},\"ingress\":[],\"labels\":"
        + "[{\"key\":\"n\",\"value\":\""
        + number
        + "\"}],\"description\":\""
        + "x".repeat(characters)
        + "\"}";
  }

  @Test
  void shouldHoldAndShowFortyFiveMegabytesOfRulesAndStartWithThem() throws Exception {
    // The classes and the compiled code of these calls stay: they are there before the import.
    for (int i = 0; i < 50; i++) {
      agent.expect(200, "PUT", "/policy", filled("[", n -> describedRule(n, 15_000), 20, "]"));
      agent.expect(200, "GET", "/policy", null);
      agent.expect(200, "DELETE", "/policy", null);
    }
    final long before = residentBytes();
    for (int part = 0; part < 3; part++) {
      final int first = part * 1000;
      assertEquals(
          200,
          status(
              agent,
              "PUT",
              "/policy",
              filled("[", i -> describedRule(first + i, 15_000), 1000, "]")));
    }
    readTogether("/policy", 2);
    assertRefused(
        "the limit is 50331648 (--max-policy-text)",
        "PUT",
        "/policy",
        filled("[", i -> describedRule(3000 + i, 15_000), 1000, "]"));
    agent.kill();
    start();
    readTogether("/policy", 2);
    agent.expect(200, "DELETE", "/policy", null);
    final long deadline = System.nanoTime() + 30_000_000_000L;
    long after = residentBytes();
    while (after > before + (64L << 20) && System.nanoTime() < deadline) {
      Thread.sleep(500);
      after = residentBytes();
    }
    System.out.printf(
        "resident before the import %d MiB, after its deletion %d MiB%n",
        before >> 20, after >> 20);
    assertTrue(after <= before + (64L << 20), before + " and then " + after);
  }

  private long residentBytes() throws IOException {
    return Files.readAllLines(Path.of("/proc/" + agent.pid() + "/status")).stream()
        .filter(line -> line.startsWith("VmRSS:"))
        .mapToLong(line -> Long.parseLong(line.replaceAll("[^0-9]", "")) << 10)
        .findFirst()
        .orElseThrow();
  }

  /** Releases without limits could store more than any heap holds. */
  @Test
  void shouldStartWithStoredRulesThatHaveNoRoomInTheHeap() throws Exception {
    agent.expect(200, "PUT", "/policy", "[" + describedRule(1, 1) + "]");
    for (final int rules : new int[] {100_000, 500_000, 700_000}) {
      agent.terminate();
      store(rules);
      start();
      final ApiCall.Answer answer = agent.call("GET", "/policy", null);
      System.out.printf("%d stored rules: GET /policy %d%n", rules, answer.status());
      assertTrue(
          answer.status() == 200 || answer.text().contains("cannot be read"),
          answer.text().substring(0, 200));
      agent.expect(200, "GET", "/healthz", null);
    }
  }

  private void store(int rules) throws IOException {
    final String rule =
        "{\"endpointSelector\":{\"matchLabels\":null,\"matchExpressions\":null},\"ingress\":[],"
            + "\"egress\":null,\"ingressDeny\":null,\"egressDeny\":null,\"labels\":null,"
            + "\"description\":null}";
    final StringBuilder document = new StringBuilder("{\"revision\":9,\"rules\":[");
    for (int i = 0; i < rules; i++) {
      document.append(i == 0 ? "" : ",").append(rule);
    }
    final byte[] bytes =
        document.append("],\"cidrIdentities\":[]}").toString().getBytes(StandardCharsets.US_ASCII);
    final CRC32C crc = new CRC32C();
    crc.update(bytes);
    final Path folder = node.state().resolve("policy");
    Files.deleteIfExists(folder.resolve("rules-copy.json"));
    try (OutputStream out = Files.newOutputStream(folder.resolve("rules.json"))) {
      out.write(
          "{\"format\":1,\"kind\":\"policy\",\"length\":%d,\"crc32c\":\"%08x\"}\n"
              .formatted(bytes.length, crc.getValue())
              .getBytes(StandardCharsets.US_ASCII));
      out.write(bytes);
      out.write('\n');
    }
  }
}
