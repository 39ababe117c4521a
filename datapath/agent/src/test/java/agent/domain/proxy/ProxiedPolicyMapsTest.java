package agent.domain.proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.IpcacheEntry;
import agent.datapath.spec.IpcacheProxy;
import agent.datapath.spec.PolicyDelta;
import agent.datapath.spec.PolicyEntry;
import agent.datapath.spec.PolicyMapProxy;
import agent.datapath.spec.PolicyVerdict;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.RedirectKind;
import agent.testkit.OtherThread;
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

/** A policy map does not send flows to a proxy before it runs, and writes keep their order. */
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

  /** Maps that note the endpoint of a write, and whether a proxy ran then. */
  private final class RecordingMaps implements PolicyMapProxy {
    private volatile CompletableFuture<PolicyDelta> answer =
        CompletableFuture.completedFuture(PolicyDelta.NONE);

    private volatile Runnable inTheMiddle = () -> {};

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

    private void note(int endpointId) {
      final Runnable call = inTheMiddle;
      inTheMiddle = () -> {};
      call.run();
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
    assertTrue(apply(1, ALLOW).isDone());
    assertTrue(proxied.synchronize(2, 0, List.of(ALLOW)).isDone());
    assertEquals(List.of("1 0", "2 0"), written);
    assertTrue(
        bench.proxies.firstPort(RedirectKind.HTTP).isEmpty()
            && bench.proxies.firstPort(RedirectKind.DNS).isEmpty());
  }

  @Test
  void shouldStartTheProxyOfARedirectBeforeItIsWritten() throws Exception {
    await(apply(1, ALLOW, TO_HTTP));
    assertTrue(
        bench.proxies.firstPort(RedirectKind.HTTP).isPresent()
            && bench.proxies.firstPort(RedirectKind.DNS).isEmpty());
    await(proxied.synchronize(2, 0, List.of(TO_DNS)));
    assertTrue(bench.proxies.firstPort(RedirectKind.DNS).isPresent());
    assertEquals(List.of("1 1", "2 2"), written);
    assertTrue(apply(3, TO_HTTP, TO_DNS).isDone(), "both run");
  }

  @Test
  void shouldWriteWhereTheProxyDoesNotStartSoThatTheFlowsAreDropped() throws Exception {
    bench.hasAddress = false;
    await(apply(1, TO_HTTP));
    assertEquals(List.of("1 0"), written);
    assertFalse(bench.proxies.serves(Set.of(RedirectKind.HTTP)));
  }

  /** A rule whose port drops everything is not answered as one that works. */
  @Test
  void shouldSayWhyFlowsOfEntriesAreDroppedWhileTheirProxyDoesNotStart() throws Exception {
    bench.hasAddress = false;
    await(apply(1, TO_HTTP));
    final String reason = proxied.unserved(List.of(ALLOW, TO_HTTP)).orElseThrow();
    assertTrue(reason.startsWith("the HTTP proxy is not running: "), reason);
    assertEquals(Optional.empty(), proxied.unserved(List.of(ALLOW, TO_DNS)));
    bench.hasAddress = true;
    await(apply(1, TO_HTTP));
    assertEquals(Optional.empty(), proxied.unserved(List.of(TO_HTTP)));
  }

  @Test
  void shouldKeepTheOrderOfWritesBehindOneThatWaitsForAProxy() throws Exception {
    bench.serving = new CompletableFuture<>();
    final CompletableFuture<?> first = apply(1, TO_HTTP);
    final CompletableFuture<?> second = apply(1, ALLOW);
    assertFalse(first.isDone() || second.isDone());
    assertEquals(List.of(), written);
    bench.serving.complete(null);
    await(second);
    assertTrue(first.isDone());
    assertEquals(List.of("1 1", "1 1"), written);
  }

  @Test
  void shouldKeepTheOrderOfTheIpcacheAndTheMaps() throws Exception {
    final IpcacheProxy ipcache =
        proxied.inOrder(
            new IpcacheProxy() {
              @Override
              public CompletableFuture<List<IpcacheEntry>> read() {
                maps.note(100);
                return CompletableFuture.completedFuture(List.of());
              }

              @Override
              public CompletableFuture<Void> apply(Collection<IpcacheChange> changes) {
                maps.note(101);
                return CompletableFuture.completedFuture(null);
              }

              @Override
              public CompletableFuture<Void> synchronize(Collection<IpcacheChange> changes) {
                maps.note(102);
                return CompletableFuture.completedFuture(null);
              }
            });
    assertTrue(ipcache.apply(List.of()).isDone());
    bench.serving = new CompletableFuture<>();
    apply(1, TO_HTTP);
    final CompletableFuture<?> read = ipcache.read();
    final CompletableFuture<?> changed = ipcache.apply(List.of());
    final CompletableFuture<?> compared = ipcache.synchronize(List.of());
    assertFalse(read.isDone() || changed.isDone() || compared.isDone());
    assertEquals(List.of("101 0"), written);
    bench.serving.complete(null);
    await(changed);
    await(compared);
    assertEquals(List.of("101 0", "1 1", "100 1", "101 1", "102 1"), written);
  }

  @Test
  void shouldWriteOnAfterAWriteThatFails() throws Exception {
    maps.answer = CompletableFuture.failedFuture(new OperationException("ENOSPC"));
    final CompletableFuture<?> failed = proxied.synchronize(1, 0, List.of(TO_HTTP));
    final CompletableFuture<?> next = apply(2, ALLOW);
    assertThrows(ExecutionException.class, () -> await(failed));
    await(next);
    assertEquals(List.of("1 1", "2 1"), written);
  }

  /** Otherwise the later of two changes of an endpoint could be written first. */
  @Test
  void shouldNotBeginAWriteInTheMiddleOfAnother() throws Exception {
    final List<OtherThread<?>> others = new CopyOnWriteArrayList<>();
    maps.inTheMiddle =
        () -> {
          others.add(OtherThread.call(() -> apply(2, ALLOW)));
          assertTrue(others.getFirst().waits(), "it waits for the write before");
        };
    await(apply(1, ALLOW));
    others.getFirst().result();
    assertEquals(List.of("1 0", "2 0"), written);
  }
}
