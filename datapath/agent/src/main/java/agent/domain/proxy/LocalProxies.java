package agent.domain.proxy;

import agent.dns.proxy.DnsProxy;
import agent.dns.proxy.DnsProxyContext;
import agent.l7proxy.HttpProxy;
import agent.l7proxy.HttpProxyContext;
import agent.l7proxy.RequestListener;
import agent.l7proxy.RequestRecord;
import agent.maps.layout.RedirectKind;
import agent.policy.request.RedirectCounters;
import agent.policy.request.RedirectStatistics;
import java.io.IOException;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;

/** The proxies in the process that asks for them. */
public final class LocalProxies implements ProxyHost {
  private final Function<RequestListener, HttpProxyContext> httpContext;
  private final Supplier<DnsProxyContext> dnsContext;
  private final Map<RequestRecord.Verdict, LongAdder> requests =
      new EnumMap<>(RequestRecord.Verdict.class);
  private volatile HttpProxy http;
  private volatile DnsProxy dns;

  /**
   * Creates the proxies without starting one.
   *
   * @param httpContext returns a context that is not concluded and has this listener hear requests
   * @param dnsContext the same for DNS
   */
  public LocalProxies(
      Function<RequestListener, HttpProxyContext> httpContext,
      Supplier<DnsProxyContext> dnsContext) {
    this.httpContext = httpContext;
    this.dnsContext = dnsContext;
    for (final RequestRecord.Verdict verdict : RequestRecord.Verdict.values()) {
      requests.put(verdict, new LongAdder());
    }
  }

  @Override
  public synchronized int start(RedirectKind kind) throws IOException {
    if (kind == RedirectKind.DNS) {
      if (dns == null) {
        dns = DnsProxy.start(dnsContext.get().conclude());
      }
      return dns.firstPort();
    }
    if (http == null) {
      YoungGeneration.enlarge();
      http = HttpProxy.start(httpContext.apply(this::count));
    }
    return http.firstPort();
  }

  private void count(RequestRecord request) {
    requests.get(request.verdict()).increment();
  }

  @Override
  public CompletableFuture<Void> enforce() {
    final CompletableFuture<Void> none = CompletableFuture.completedFuture(null);
    return CompletableFuture.allOf(
        http == null ? none : http.enforce(), dns == null ? none : dns.enforce());
  }

  @Override
  public ProxyCounts report(int endpointId) {
    final HttpProxy web = http;
    final Map<RequestRecord.Verdict, Long> counted = new EnumMap<>(RequestRecord.Verdict.class);
    if (web != null) {
      requests.forEach((verdict, count) -> counted.put(verdict, count.sum()));
    }
    final Map<RedirectKind, List<RedirectStatistics>> redirects = new EnumMap<>(RedirectKind.class);
    if (endpointId != 0) {
      for (final RedirectKind kind : RedirectKind.values()) {
        counters(kind).ifPresent(all -> redirects.put(kind, all.statistics(endpointId)));
      }
    }
    return new ProxyCounts(
        counted,
        web == null
            ? ProxyCounts.Connections.NONE
            : new ProxyCounts.Connections(
                web.connections(),
                web.refusedConnections(),
                web.closedIdleConnections(),
                web.droppedRecords()),
        dns == null ? Map.of() : dns.counters(),
        redirects);
  }

  /** Returns the counters of the redirects to a proxy; empty: it does not run. */
  public Optional<RedirectCounters> counters(RedirectKind kind) {
    return switch (kind) {
      case NONE -> Optional.empty();
      case HTTP -> Optional.ofNullable(http).map(HttpProxy::redirectCounters);
      case DNS -> Optional.ofNullable(dns).map(DnsProxy::redirectCounters);
    };
  }

  @Override
  public void forget(int endpointId) {
    for (final RedirectKind kind : RedirectKind.values()) {
      counters(kind).ifPresent(counters -> counters.forget(endpointId));
    }
  }

  @Override
  public void reopen() {
    if (http != null) {
      http.reopen();
    }
  }

  /** They end with the process. */
  @Override
  public void whenLost(Consumer<String> listener) {}

  @Override
  public Optional<String> process() {
    return Optional.empty();
  }

  @Override
  public void close() {
    if (http != null) {
      http.close();
    }
    if (dns != null) {
      dns.close();
    }
  }
}
