package agent.domain.proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.RedirectProxy;
import agent.datapath.spec.RedirectedFlow;
import agent.maps.layout.RedirectKind;
import agent.types.IpAddress;
import agent.types.OperationException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** When proxies whose process has ended are started again, and what is said until then. */
@Timeout(60)
class NodeProxiesRestartTest {
  private static final Set<RedirectKind> HTTP = EnumSet.of(RedirectKind.HTTP);
  private static final Set<RedirectKind> BOTH = EnumSet.of(RedirectKind.HTTP, RedirectKind.DNS);
  private static final IpAddress IPV4 = IpAddress.parse("192.0.2.1");
  private static final IpAddress IPV6 = IpAddress.parse("2001:db8::1");

  private final List<String> calls = new ArrayList<>();
  private final Host host = new Host();
  private final Redirects redirects = new Redirects();
  private final Starting starting = new Starting();
  private long nowNs = 5;
  private final NodeProxies proxies = new NodeProxies(redirects, host, starting, () -> nowNs);

  @AfterEach
  void close() {
    proxies.close();
  }

  private final class Host implements ProxyHost {
    private Consumer<String> lost;
    private boolean fails;
    private boolean isLostMeanwhile;

    @Override
    public int start(RedirectKind kind) {
      calls.add("start " + kind);
      if (fails) {
        throw new OperationException("it does not start");
      }
      if (isLostMeanwhile) {
        isLostMeanwhile = false;
        lost.accept("gone meanwhile");
      }
      return kind == RedirectKind.DNS ? 31_000 : 21_000;
    }

    @Override
    public CompletableFuture<Void> enforce() {
      return CompletableFuture.completedFuture(null);
    }

    @Override
    public ProxyCounts report(int endpointId) {
      return ProxyCounts.NONE;
    }

    @Override
    public void forget(int endpointId) {
      calls.add("forget " + endpointId);
    }

    @Override
    public void reopen() {
      calls.add("reopen");
    }

    @Override
    public void whenLost(Consumer<String> listener) {
      lost = listener;
    }

    @Override
    public Optional<String> process() {
      return Optional.empty();
    }

    @Override
    public void close() {
      calls.add("close");
    }
  }

  private final class Redirects implements RedirectProxy {
    private IpAddress ipv4 = IPV4;

    @Override
    public Optional<IpAddress> address(boolean ipv6) {
      return Optional.ofNullable(ipv6 ? IPV6 : ipv4);
    }

    @Override
    public int previousPort(RedirectKind kind) {
      return 0;
    }

    @Override
    public CompletableFuture<Void> serve(RedirectKind kind, int firstPort) {
      calls.add("serve " + kind + " " + firstPort);
      return CompletableFuture.completedFuture(null);
    }

    @Override
    public Optional<RedirectedFlow> find(int protocol, IpAddress client, int clientPort, int port) {
      return Optional.empty();
    }

    @Override
    public Optional<String> refusal(RedirectedFlow flow) {
      return Optional.empty();
    }

    @Override
    public CompletableFuture<Void> join(RedirectedFlow flow, int port) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void leave(RedirectedFlow flow, int port) {
      throw new UnsupportedOperationException();
    }
  }

  /** What is to be done later is done when the test says so. */
  private static final class Starting extends ScheduledThreadPoolExecutor {
    private final Deque<Runnable> later = new ArrayDeque<>();
    private final Deque<Long> pausesMs = new ArrayDeque<>();

    Starting() {
      super(1);
    }

    @Override
    public ScheduledFuture<?> schedule(Runnable command, long delay, TimeUnit unit) {
      if (delay == 0) {
        return super.schedule(command, 0, unit);
      }
      later.add(command);
      pausesMs.add(unit.toMillis(delay));
      return null;
    }

    /** Does what is to be done next, and returns after which time that is, in milliseconds. */
    long next() {
      later.remove().run();
      return pausesMs.remove();
    }
  }

  private void need(Set<RedirectKind> kinds) throws Exception {
    proxies.need(kinds).get(30, TimeUnit.SECONDS);
  }

  private String health() {
    return proxies.health().message();
  }

  @Test
  void shouldSendNoFlowToProxiesThatHaveEndedUntilTheyRunAgain() throws Exception {
    need(BOTH);
    assertEquals("serving [HTTP, DNS]", health());
    calls.clear();
    host.lost.accept("killed");
    assertEquals(Set.of("serve HTTP 0", "serve DNS 0"), Set.copyOf(calls));
    assertFalse(proxies.serves(HTTP));
    assertEquals(Optional.empty(), proxies.firstPort(RedirectKind.DNS));
    assertTrue(health().contains("killed"), health());
    assertEquals("the HTTP proxy is not running: killed", proxies.refusal(HTTP).orElseThrow());
    calls.clear();
    assertEquals(50, starting.next());
    assertEquals(
        Set.of("start HTTP", "serve HTTP 21000", "start DNS", "serve DNS 31000"),
        Set.copyOf(calls));
    assertEquals("serving [HTTP, DNS]", health());
    assertEquals(31_000, proxies.firstPort(RedirectKind.DNS).orElseThrow());
    assertEquals(Optional.empty(), proxies.refusal(BOTH));
    assertTrue(starting.later.isEmpty());
  }

  @Test
  void shouldTryAgainAfterLongerPausesUpToHalfAMinute() throws Exception {
    need(HTTP);
    host.fails = true;
    host.lost.accept("killed");
    for (final long pauseMs :
        List.of(50, 100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000)) {
      assertEquals(pauseMs, starting.next());
      assertEquals(1, starting.later.size(), "one start at a time");
    }
    assertTrue(health().contains("it does not start"), health());
    host.fails = false;
    assertEquals(30_000, starting.next());
    assertEquals("serving [HTTP]", health());
  }

  @Test
  void shouldTryAgainSoonWhereTheProcessHasServedForAMinute() throws Exception {
    need(HTTP);
    host.lost.accept("killed");
    assertEquals(50, starting.next());
    nowNs += TimeUnit.MINUTES.toNanos(1);
    host.lost.accept("killed");
    assertEquals(100, starting.next(), "not for longer than a minute");
    nowNs += TimeUnit.MINUTES.toNanos(1) + 1;
    host.lost.accept("killed");
    assertEquals(50, starting.next());
    host.lost.accept("killed");
    assertEquals(100, starting.next());
  }

  /** No process has its ports, and the health would tell of no fault. */
  @Test
  void shouldNotServeAProxyWhoseProcessEndsWhileItStarts() throws Exception {
    host.isLostMeanwhile = true;
    need(HTTP);
    assertFalse(proxies.serves(HTTP));
    assertEquals("serve HTTP 0", calls.getLast());
    assertTrue(health().contains("the proxy process has ended"), health());
    while (!starting.later.isEmpty()) {
      starting.next();
    }
    assertTrue(proxies.serves(HTTP));
    assertEquals("serve HTTP 21000", calls.getLast());
  }

  @Test
  void shouldStartNothingAgainAfterTheEnd() throws Exception {
    need(HTTP);
    proxies.close();
    assertEquals("close", calls.getLast());
    assertTrue(starting.isShutdown());
  }

  @Test
  void shouldShowTheAddressOfIpv4OrElseThatOfIpv6() {
    assertEquals(Optional.of(IPV4), proxies.address());
    redirects.ipv4 = null;
    assertEquals(Optional.of(IPV6), proxies.address());
  }

  @Test
  void shouldPassOnRemovalsAndRotations() {
    proxies.endpointRemoved(7);
    proxies.reopenLogs();
    assertEquals(List.of("forget 7", "reopen"), calls);
  }
}
