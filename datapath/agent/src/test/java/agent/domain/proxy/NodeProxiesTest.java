package agent.domain.proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.conductor.ModuleHealth.Level;
import agent.datapath.spec.RedirectedFlow;
import agent.maps.layout.RedirectKind;
import agent.policy.request.RedirectCounters;
import agent.policy.request.RedirectCounters.Count;
import agent.types.IpAddress;
import agent.types.OperationException;
import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** When the proxies start, on which ports, and what the health says of them. */
@Timeout(60)
class NodeProxiesTest {
  private static final Set<RedirectKind> HTTP = EnumSet.of(RedirectKind.HTTP);
  private static final Set<RedirectKind> DNS = EnumSet.of(RedirectKind.DNS);
  private static final Set<RedirectKind> BOTH = EnumSet.of(RedirectKind.HTTP, RedirectKind.DNS);

  @TempDir private Path directory;

  private static void need(RedirectBench bench, Set<RedirectKind> kinds) throws Exception {
    bench.proxies.need(kinds).get(30, TimeUnit.SECONDS);
  }

  private static List<String> ports(RedirectBench bench) {
    return List.of(
        "HTTP " + bench.proxies.firstPort(RedirectKind.HTTP).orElseThrow(),
        "DNS " + bench.proxies.firstPort(RedirectKind.DNS).orElseThrow());
  }

  @Test
  void shouldStartNoProxyThatNoPolicyAsksFor() throws Exception {
    try (RedirectBench bench = new RedirectBench()) {
      need(bench, EnumSet.noneOf(RedirectKind.class));
      assertTrue(bench.proxies.serves(EnumSet.noneOf(RedirectKind.class)));
      assertFalse(bench.proxies.serves(HTTP));
      assertEquals(List.of(), bench.served);
      assertEquals("no policy requires a proxy", bench.proxies.health().message());
      need(bench, DNS);
      assertTrue(bench.proxies.firstPort(RedirectKind.HTTP).isEmpty());
      assertFalse(bench.proxies.serves(BOTH));
    }
  }

  @Test
  void shouldStartEachProxyOnceAndTellTheDatapathItsPorts() throws Exception {
    try (RedirectBench bench = new RedirectBench()) {
      need(bench, BOTH);
      need(bench, BOTH);
      need(bench, HTTP);
      assertTrue(bench.proxies.serves(BOTH));
      assertEquals(ports(bench), bench.served);
      assertEquals(Level.OK, bench.proxies.health().level());
      assertEquals("serving [HTTP, DNS]", bench.proxies.health().message());
    }
  }

  @Test
  void shouldServeWhenTheDatapathHasThePortsAndNotBefore() throws Exception {
    try (RedirectBench bench = new RedirectBench()) {
      bench.serving = new CompletableFuture<>();
      final CompletableFuture<Void> needed = bench.proxies.need(DNS);
      while (bench.served.isEmpty()) {
        Thread.onSpinWait();
      }
      assertFalse(needed.isDone());
      assertFalse(bench.proxies.serves(DNS));
      bench.serving.complete(null);
      needed.get(30, TimeUnit.SECONDS);
      assertTrue(bench.proxies.serves(DNS));
    }
  }

  @Test
  void shouldSayWhatHasNotStartedAndTryItAgainWithTheNextPolicy() throws Exception {
    final Path log = directory.resolve("missing/access.log");
    try (RedirectBench bench = new RedirectBench(context -> context.accessLog(log))) {
      need(bench, BOTH);
      assertFalse(bench.proxies.serves(HTTP));
      assertTrue(bench.proxies.serves(DNS));
      assertEquals(Level.STOPPED, bench.proxies.health().level());
      final String message = bench.proxies.health().message();
      assertTrue(message.contains("{HTTP=") && message.contains(log.toString()), message);
      Files.createDirectories(log.getParent());
      need(bench, HTTP);
      assertTrue(bench.proxies.serves(BOTH));
      assertEquals("serving [HTTP, DNS]", bench.proxies.health().message());
    }
  }

  @Test
  void shouldKeepAProxyThatTheDatapathDoesNotTakeAndOfferItAgain() throws Exception {
    try (RedirectBench bench = new RedirectBench()) {
      bench.serving = CompletableFuture.failedFuture(new OperationException("the map is full"));
      need(bench, BOTH);
      assertFalse(bench.proxies.serves(HTTP) || bench.proxies.serves(DNS));
      assertTrue(bench.proxies.health().message().contains("the map is full"));
      bench.serving = CompletableFuture.completedFuture(null);
      need(bench, BOTH);
      assertTrue(bench.proxies.serves(BOTH));
      assertEquals(ports(bench), bench.served.subList(0, 2));
      assertEquals(ports(bench), bench.served.subList(2, 4));
    }
  }

  @Test
  void shouldStartNoneWithoutAnAddress() throws Exception {
    try (RedirectBench bench = new RedirectBench()) {
      bench.hasAddress = false;
      need(bench, BOTH);
      assertFalse(bench.proxies.serves(HTTP) || bench.proxies.serves(DNS));
      assertEquals(Level.STOPPED, bench.proxies.health().level());
    }
  }

  @Test
  void shouldTakeThePortsOfThePreviousRun() throws Exception {
    final List<String> before;
    try (RedirectBench first = new RedirectBench()) {
      need(first, BOTH);
      before = ports(first);
    }
    try (RedirectBench next = new RedirectBench()) {
      next.previous.put(RedirectKind.HTTP, Integer.valueOf(before.getFirst().substring(5)));
      next.previous.put(RedirectKind.DNS, Integer.valueOf(before.getLast().substring(4)));
      need(next, BOTH);
      assertEquals(before, ports(next));
    }
  }

  @Test
  void shouldTakeOtherPortsWhereOneOfThePreviousRunIsTaken() throws Exception {
    try (RedirectBench bench = new RedirectBench();
        ServerSocket taken = socket()) {
      final int first = taken.getLocalPort() - 3;
      bench.previous.put(RedirectKind.HTTP, first);
      bench.previous.put(RedirectKind.DNS, first);
      need(bench, BOTH);
      assertTrue(bench.proxies.serves(BOTH), bench.proxies.health().message());
      assertNotEquals(first, bench.proxies.firstPort(RedirectKind.HTTP).orElseThrow());
      assertNotEquals(first, bench.proxies.firstPort(RedirectKind.DNS).orElseThrow());
    }
  }

  /** The other endpoint keeps what was counted for it. */
  @Test
  void shouldForgetTheCountsOfARemovedEndpointInEachProxy() throws Exception {
    try (RedirectBench bench = new RedirectBench()) {
      need(bench, BOTH);
      for (final RedirectKind kind : BOTH) {
        bench.redirected = kind;
        for (final int endpoint : new int[] {7, 8}) {
          counters(bench, kind).of(flow(endpoint)).add(Count.REQUEST_RECEIVED);
          assertEquals(1, counters(bench, kind).statistics(endpoint).size());
        }
      }
      bench.proxies.endpointRemoved(7);
      for (final RedirectKind kind : BOTH) {
        assertEquals(List.of(), counters(bench, kind).statistics(7), kind.toString());
        assertEquals(1, counters(bench, kind).statistics(8).size(), kind.toString());
      }
    }
  }

  private static RedirectCounters counters(RedirectBench bench, RedirectKind kind) {
    return bench.local.counters(kind).orElseThrow();
  }

  private static RedirectedFlow flow(int endpoint) {
    final IpAddress address = IpAddress.parse("192.0.2.7");
    return new RedirectedFlow(6, address, 1000 + endpoint, 300, endpoint, address, 80, 2, 0);
  }

  @Test
  void shouldGiveThePortsOfEachProxyBackAtTheEnd() throws Exception {
    final List<Integer> ports;
    try (RedirectBench bench = new RedirectBench()) {
      need(bench, BOTH);
      ports = BOTH.stream().map(kind -> bench.proxies.firstPort(kind).orElseThrow()).toList();
      for (final int port : ports) {
        assertThrows(BindException.class, () -> bind(port).close());
      }
    }
    for (final int port : ports) {
      bind(port).close();
    }
  }

  private static ServerSocket bind(int port) throws IOException {
    return new ServerSocket(port, 1, InetAddress.getByName("127.0.0.1"));
  }

  private static ServerSocket socket() throws IOException {
    return new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"));
  }
}
