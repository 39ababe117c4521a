package agent.domain.proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.PolicyDelta;
import agent.datapath.spec.PolicyEntry;
import agent.datapath.spec.PolicyMapProxy;
import agent.datapath.spec.PolicyVerdict;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.RedirectKind;
import agent.types.OperationException;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A policy map does not send flows to a proxy before it runs. */
@Timeout(60)
class ProxiedPolicyMapsTest {
  private static final int TCP = 6;
  private static final PolicyEntry ALLOW = PolicyEntry.allow(1, PolicyDirection.EGRESS, TCP, 443);
  private static final PolicyEntry TO_HTTP = redirect(RedirectKind.HTTP, 80);
  private static final PolicyEntry TO_DNS = redirect(RedirectKind.DNS, 53);

  private final List<String> written = new CopyOnWriteArrayList<>();
  private final RedirectBench bench = new RedirectBench();
  private final RecordingMaps maps = new RecordingMaps();
  private final ProxiedPolicyMaps proxied = new ProxiedPolicyMaps(maps, bench.proxies);

  private static PolicyEntry redirect(RedirectKind kind, int port) {
    return new PolicyEntry(
        1, PolicyDirection.EGRESS, TCP, port, ALLOW.prefixLength(), PolicyVerdict.redirect(kind));
  }

  /** Maps that note the endpoint of a write, and how many proxies ran then. */
  private final class RecordingMaps implements PolicyMapProxy {
    private volatile CompletableFuture<PolicyDelta> answer =
        CompletableFuture.completedFuture(PolicyDelta.NONE);

    @Override
    public CompletableFuture<Map<Integer, RuntimeException>> apply(List<PolicyChange> changes) {
      changes.forEach(change -> note(change.endpointId()));
      return CompletableFuture.completedFuture(Map.of());
    }

    @Override
    public CompletableFuture<PolicyDelta> synchronize(
        int endpointId, int identity, Collection<PolicyEntry> desired) {
      note(endpointId);
      return answer;
    }

    @Override
    public boolean isBehind(int endpointId) {
      return endpointId == 3;
    }

    private void note(int endpointId) {
      written.add(endpointId + " " + bench.served.size());
    }
  }

  @AfterEach
  void close() {
    bench.close();
  }

  private CompletableFuture<?> apply(int endpointId, PolicyEntry... upserts) {
    return proxied.apply(List.of(change(endpointId, upserts)));
  }

  private static PolicyMapProxy.PolicyChange change(int endpointId, PolicyEntry... upserts) {
    return new PolicyMapProxy.PolicyChange(
        endpointId, 0, new PolicyDelta(List.of(upserts), List.of()));
  }

  private static void await(CompletableFuture<?> future) throws Exception {
    future.get(30, TimeUnit.SECONDS);
  }

  @Test
  void shouldWriteAtOnceAndStartNoProxyWithoutRedirects() {
    assertTrue(proxied.startProxies(Set.of()).isDone());
    assertTrue(apply(1, ALLOW).isDone());
    assertTrue(proxied.synchronize(2, 0, List.of(ALLOW)).isDone());
    assertEquals(List.of("1 0", "2 0"), written);
    assertTrue(
        bench.proxies.firstPort(RedirectKind.HTTP).isEmpty()
            && bench.proxies.firstPort(RedirectKind.DNS).isEmpty());
  }

  @Test
  void shouldStartTheProxyOfARedirectBeforeItIsWritten() throws Exception {
    await(proxied.startProxies(Set.of(RedirectKind.HTTP)));
    assertTrue(
        bench.proxies.firstPort(RedirectKind.HTTP).isPresent()
            && bench.proxies.firstPort(RedirectKind.DNS).isEmpty());
    assertTrue(apply(1, ALLOW, TO_HTTP).isDone());
    await(proxied.synchronize(2, 0, List.of(TO_DNS)));
    assertTrue(bench.proxies.firstPort(RedirectKind.DNS).isPresent());
    assertEquals(List.of("1 1", "2 2"), written);
    assertTrue(
        proxied.startProxies(Set.of(RedirectKind.HTTP, RedirectKind.DNS)).isDone(), "both run");
  }

  @Test
  void shouldWriteWhereTheProxyDoesNotStartSoThatTheFlowsAreDropped() throws Exception {
    bench.hasAddress = false;
    await(proxied.startProxies(Set.of(RedirectKind.HTTP)));
    await(proxied.synchronize(1, 0, List.of(TO_HTTP)));
    assertEquals(List.of("1 0"), written);
    assertFalse(bench.proxies.serves(Set.of(RedirectKind.HTTP)));
  }

  /** A rule whose port drops everything is not answered as one that works. */
  @Test
  void shouldSayWhyFlowsOfEntriesAreDroppedWhileTheirProxyDoesNotStart() throws Exception {
    bench.hasAddress = false;
    await(proxied.startProxies(Set.of(RedirectKind.HTTP)));
    final String reason = proxied.unserved(Set.of(RedirectKind.HTTP)).orElseThrow();
    assertTrue(reason.startsWith("the HTTP proxy is not running: "), reason);
    assertEquals(Optional.empty(), proxied.unserved(Set.of(RedirectKind.DNS)));
    bench.hasAddress = true;
    await(proxied.startProxies(Set.of(RedirectKind.HTTP)));
    assertEquals(Optional.empty(), proxied.unserved(Set.of(RedirectKind.HTTP)));
  }

  /** Who asks for them waits with what is to follow. */
  @Test
  void shouldTellWhenTheProxiesRun() throws Exception {
    bench.serving = new CompletableFuture<>();
    final CompletableFuture<?> started = proxied.startProxies(Set.of(RedirectKind.HTTP));
    final CompletableFuture<?> synchronizing = proxied.synchronize(1, 0, List.of(TO_HTTP));
    assertFalse(started.isDone() || synchronizing.isDone());
    assertTrue(apply(2, ALLOW).isDone(), "it needs none");
    assertEquals(1, written.size());
    assertTrue(written.getFirst().startsWith("2 "), "whether the other one has its port by now");
    bench.serving.complete(null);
    await(started);
    await(synchronizing);
    assertEquals("1 1", written.getLast());
  }

  @Test
  void shouldSayWhichMapsAreBehind() {
    assertTrue(proxied.isBehind(3) && !proxied.isBehind(4));
  }

  @Test
  void shouldFailAsTheSynchronizationThatFollows() throws Exception {
    maps.answer = CompletableFuture.failedFuture(new OperationException("ENOSPC"));
    final CompletableFuture<?> failed = proxied.synchronize(1, 0, List.of(TO_HTTP));
    assertThrows(ExecutionException.class, () -> await(failed));
    assertEquals(List.of("1 1"), written);
  }
}
