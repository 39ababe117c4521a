package agent.l7proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.maps.layout.PolicyDirection;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Requests of the proxy's own run through its code, and are seen nowhere. */
@Timeout(60)
class HttpProxyWarmUpTest {
  @TempDir Path folder;

  private static List<String> threads() {
    return Thread.getAllStackTraces().keySet().stream()
        .map(Thread::getName)
        .filter(name -> name.startsWith("l7-warm-up"))
        .toList();
  }

  private static long descriptors() throws Exception {
    try (var open = Files.list(Path.of("/proc/self/fd"))) {
      return open.count();
    }
  }

  private static void await(Callable<Boolean> condition) throws Exception {
    final long endNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    while (!condition.call()) {
      assertTrue(System.nanoTime() - endNs < 0);
      Thread.sleep(10);
    }
  }

  @Test
  void shouldSendRequestsThroughTheProxyWithinItsTimeAndLeaveNothing() throws Exception {
    HttpProxyWarmUp.start(Duration.ofMillis(200), answered -> {}).close(); // opens for good
    final long before = descriptors();
    final CompletableFuture<Integer> ended = new CompletableFuture<>();
    final long beginNs = System.nanoTime();
    try (HttpProxyWarmUp warmUp = HttpProxyWarmUp.start(Duration.ofSeconds(1), ended::complete)) {
      final int answered = ended.get(30, TimeUnit.SECONDS);
      final long tookMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - beginNs);
      assertTrue(tookMs >= 1000, warmUp + " ended early, after " + tookMs + " ms");
      assertTrue(answered > 100, answered + " answered");
    }
    await(() -> threads().isEmpty());
    await(() -> descriptors() <= before);
  }

  @Test
  void shouldEndEarlyWhereItIsClosed() {
    final long beginNs = System.nanoTime();
    HttpProxyWarmUp.start(Duration.ofMinutes(1), answered -> {}).close();
    assertTrue(System.nanoTime() - beginNs < TimeUnit.SECONDS.toNanos(30));
  }

  /** A client that is early is neither refused nor served before its path is warm. */
  @Test
  void shouldAcceptClientsAfterTheWarmUpAndCountTheirRequestsAlone() throws Exception {
    final Path log = folder.resolve("access.log");
    final long beginNs = System.nanoTime();
    try (OriginServer server = new OriginServer(connection -> answer(connection));
        ProxyBench bench =
            new ProxyBench(
                server.port(), options -> options.warmUp(Duration.ofMillis(700)).accessLog(log));
        HttpSocket client = bench.client()) {
      bench.redirecting = Set.of(PolicyDirection.EGRESS);
      client.send("GET /first HTTP/1.1\r\nHost: a.test\r\n\r\n");
      assertEquals(200, client.response().status());
      final long tookMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - beginNs);
      assertTrue(tookMs >= 700, "served after " + tookMs + " ms");
      assertEquals("/first", bench.record().path());
      assertTrue(bench.records.isEmpty());
      assertEquals(List.of("GET a.test /first"), bench.judged);
      assertEquals(1, bench.proxy.connections());
      assertEquals(
          1,
          bench
              .proxy
              .redirectCounters()
              .statistics(bench.clientEndpoint)
              .getFirst()
              .requests()
              .received());
      await(() -> Files.size(log) > 0);
      assertEquals(1, Files.readAllLines(log).size());
      assertFalse(Files.readString(log).contains("warm"));
    }
  }

  private static void answer(HttpSocket connection) throws Exception {
    connection.request();
    connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  }
}
