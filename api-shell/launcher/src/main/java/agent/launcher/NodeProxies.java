package agent.launcher;

import agent.datapath.manager.spec.RedirectProxy;
import agent.datapath.manager.thread.HealthBoard;
import agent.dns.proxy.DnsProxy;
import agent.dns.proxy.DnsProxyContext;
import agent.dns.proxy.NameGate;
import agent.identity.IdentityAllocator;
import agent.l7proxy.HttpProxy;
import agent.l7proxy.HttpProxyContext;
import agent.l7proxy.RequestListener;
import agent.l7proxy.RequestRecord;
import agent.maps.layout.RedirectKind;
import agent.policy.request.RedirectCounters;
import agent.policy.request.RequestPolicies;
import agent.server.monitor.AgentEvents;
import agent.server.monitor.QuestionEvents;
import agent.server.monitor.RequestEvents;
import agent.types.IoFailure;
import agent.types.IpAddress;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Function;
import java.util.function.Supplier;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * The proxies of this node. Each is started when the first policy asks for it: most nodes have
 * none, and pay no memory for it. One that cannot be started is tried again every few seconds and
 * with the next policy that asks for it; until then what opens flows to it is dropped, and the
 * health tells.
 */
final class NodeProxies implements AutoCloseable {
  static final String MODULE = "proxies";

  private static final int ENFORCE_SECONDS = 5;
  private static final int RETRY_SECONDS = 5;
  private static final Logger LOGGER = LogManager.getLogger(NodeProxies.class);

  private final RedirectProxy redirect;
  private final Function<RequestListener, HttpProxyContext> httpContext;
  private final Supplier<DnsProxyContext> dnsContext;
  private final ExecutorService starting =
      Executors.newSingleThreadExecutor(Thread.ofPlatform().name("proxies").daemon().factory());
  private final Set<RedirectKind> served = EnumSet.noneOf(RedirectKind.class);
  private final Map<RedirectKind, String> failures = new EnumMap<>(RedirectKind.class);
  private final Map<RequestRecord.Verdict, LongAdder> requests =
      new EnumMap<>(RequestRecord.Verdict.class);
  private CompletableFuture<Void> pass = CompletableFuture.completedFuture(null);
  private CompletableFuture<Void> nextPass;
  private volatile HttpProxy http;
  private volatile DnsProxy dns;

  /**
   * Creates the proxies without starting one.
   *
   * @param httpContext returns a context that is not concluded and has this listener hear requests
   * @param dnsContext the same for DNS, with the port that the options name
   */
  NodeProxies(
      RedirectProxy redirect,
      Function<RequestListener, HttpProxyContext> httpContext,
      Supplier<DnsProxyContext> dnsContext) {
    this.redirect = redirect;
    this.httpContext = httpContext;
    for (final RequestRecord.Verdict verdict : RequestRecord.Verdict.values()) {
      requests.put(verdict, new LongAdder());
    }
    this.dnsContext = dnsContext;
  }

  /**
   * Returns the proxies as the options say, none of which is started.
   *
   * @param events hears of requests and questions
   */
  static NodeProxies of(
      ProxyOptions options,
      RedirectProxy redirect,
      RequestPolicies policies,
      NameGate gate,
      IdentityAllocator identities,
      AgentEvents events) {
    return new NodeProxies(
        redirect,
        counter ->
            options
                .http()
                .redirect(redirect)
                .policies(policies)
                .labels(id -> labels(identities, id))
                .listener(both(counter, new RequestEvents(events))),
        () ->
            options
                .dns()
                .redirect(redirect)
                .policies(policies)
                .gate(gate)
                .observer(new QuestionEvents(events)));
  }

  private static RequestListener both(RequestListener first, RequestListener second) {
    return request -> {
      first.onRequest(request);
      second.onRequest(request);
    };
  }

  private void count(RequestRecord request) {
    requests.get(request.verdict()).increment();
  }

  /** Returns how many HTTP requests had this verdict since the start of the agent. */
  long requests(RequestRecord.Verdict verdict) {
    return requests.get(verdict).sum();
  }

  private static List<String> labels(IdentityAllocator identities, int id) {
    return identities.find(id).map(identity -> identity.labels().toStrings()).orElse(List.of());
  }

  /** Returns whether flows may be sent to these proxies. */
  synchronized boolean serves(Set<RedirectKind> kinds) {
    return served.containsAll(kinds);
  }

  /** Starts the proxies that do not run yet; completes when they run, or could not be started. */
  CompletableFuture<Void> need(Set<RedirectKind> kinds) {
    return CompletableFuture.runAsync(() -> kinds.forEach(this::start), starting);
  }

  /**
   * Has what the proxies have open obey the policies that are published now. Completes when that is
   * so, or after a time in which a proxy does not answer; does not fail. Calls during a pass share
   * the next one.
   */
  synchronized CompletableFuture<Void> enforce() {
    if (http == null && dns == null) {
      return CompletableFuture.completedFuture(null);
    }
    if (nextPass != null) {
      return nextPass;
    }
    if (pass.isDone()) {
      pass = beginPass();
      return pass;
    }
    nextPass = pass.thenComposeAsync(ended -> beginNextPass());
    return nextPass;
  }

  private synchronized CompletableFuture<Void> beginNextPass() {
    pass = nextPass;
    nextPass = null;
    return beginPass();
  }

  private CompletableFuture<Void> beginPass() {
    final CompletableFuture<Void> none = CompletableFuture.completedFuture(null);
    return CompletableFuture.allOf(
            http().map(HttpProxy::enforce).orElse(none), dns().map(DnsProxy::enforce).orElse(none))
        .completeOnTimeout(null, ENFORCE_SECONDS, TimeUnit.SECONDS);
  }

  private void start(RedirectKind kind) {
    if (kind == RedirectKind.NONE || serves(Set.of(kind))) {
      return;
    }
    try {
      redirect.serve(kind, kind == RedirectKind.HTTP ? startHttp() : startDns()).join();
      succeeded(kind);
    } catch (IOException | RuntimeException e) {
      failed(kind, e);
    }
  }

  private synchronized void succeeded(RedirectKind kind) {
    served.add(kind);
    failures.remove(kind);
  }

  private synchronized void failed(RedirectKind kind, Exception failure) {
    final String reason =
        failure instanceof IOException io ? IoFailure.sentence(io) : failure.getMessage();
    final String text = option(kind, failure) + reason;
    final String before = failures.put(kind, text);
    if (before == null) {
      LOGGER.error("the {} proxy does not start: {}; it is tried again", kind, text, failure);
      retry(kind);
    }
  }

  private void retry(RedirectKind kind) {
    CompletableFuture.delayedExecutor(RETRY_SECONDS, TimeUnit.SECONDS, starting)
        .execute(
            () -> {
              start(kind);
              if (!serves(Set.of(kind))) {
                retry(kind);
              }
            });
  }

  /** Returns the option that a failure is about; an empty text where it is about none. */
  private static String option(RedirectKind kind, Exception failure) {
    if (kind == RedirectKind.DNS) {
      return "--tofqdns-proxy-port: ";
    }
    return failure instanceof FileSystemException ? "--access-log: " : "";
  }

  /** Returns why flows cannot be sent to these proxies; empty where they can. */
  synchronized Optional<String> refusal(Set<RedirectKind> kinds) {
    return kinds.stream()
        .filter(kind -> !served.contains(kind) && failures.containsKey(kind))
        .map(kind -> "the " + kind + " proxy does not start: " + failures.get(kind))
        .findFirst();
  }

  private int startHttp() throws IOException {
    if (http == null) {
      YoungGeneration.enlarge();
      http = HttpProxy.start(httpContext.apply(this::count));
    }
    return http.firstPort();
  }

  private int startDns() {
    if (dns == null) {
      dns = DnsProxy.start(dnsContext.get().conclude());
    }
    return dns.firstPort();
  }

  /**
   * Returns the address of this node that the proxies listen on, the IPv4 address if there is one.
   */
  Optional<IpAddress> address() {
    return redirect.address(false).or(() -> redirect.address(true));
  }

  /** Returns the HTTP proxy, if it runs. */
  Optional<HttpProxy> http() {
    return Optional.ofNullable(http);
  }

  /** Returns the DNS proxy, if it runs. */
  Optional<DnsProxy> dns() {
    return Optional.ofNullable(dns);
  }

  /** Returns the first of the ports that a proxy listens on; empty: it does not run. */
  Optional<Integer> firstPort(RedirectKind kind) {
    return switch (kind) {
      case NONE -> Optional.empty();
      case HTTP -> http().map(HttpProxy::firstPort);
      case DNS -> dns().map(DnsProxy::firstPort);
    };
  }

  /** Returns the counters of the redirects to a proxy; empty: it does not run. */
  Optional<RedirectCounters> counters(RedirectKind kind) {
    return switch (kind) {
      case NONE -> Optional.empty();
      case HTTP -> http().map(HttpProxy::redirectCounters);
      case DNS -> dns().map(DnsProxy::redirectCounters);
    };
  }

  /** Forgets what was counted for an endpoint that is gone. */
  void endpointRemoved(int endpointId) {
    for (final RedirectKind kind : RedirectKind.values()) {
      counters(kind).ifPresent(counters -> counters.forget(endpointId));
    }
    enforce();
  }

  /** Opens the access log by its name again. */
  void reopenLogs() {
    http().ifPresent(HttpProxy::reopen);
  }

  /** Reads whether a proxy that policy asks for does not run. */
  synchronized HealthBoard.Reading health() {
    return failures.isEmpty()
        ? HealthBoard.Reading.ok(served.isEmpty() ? "no policy asks for one" : "serving " + served)
        : HealthBoard.Reading.stopped("not started, so that their flows are dropped: " + failures);
  }

  @Override
  public void close() {
    starting.shutdownNow();
    http().ifPresent(HttpProxy::close);
    dns().ifPresent(DnsProxy::close);
  }
}
