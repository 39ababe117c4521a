package agent.domain.proxy;

import agent.conductor.ThreadPriority;
import agent.dns.proxy.DnsProxy;
import agent.dns.proxy.DnsProxyContext;
import agent.domain.node.ProcessPrivileges;
import agent.l7proxy.AccessLog;
import agent.l7proxy.HttpProxyContext;
import agent.l7proxy.RequestListener;
import agent.l7proxy.RequestRecord;
import agent.maps.layout.RedirectKind;
import agent.types.OperationException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.IntFunction;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * The proxies in a process of their own, which reads the bytes of workloads and has no rights. It
 * is started with the first proxy, and again with the next one where it has ended. The access log
 * is written here, by its owner and with the labels of identities.
 */
public final class RemoteProxies implements ProxyHost {
  private static final Logger LOGGER = LogManager.getLogger(RemoteProxies.class);
  private static final long START_SEC = 60;

  /** A process that has not ended by then what rules deny is ended itself, and all with it. */
  private static final long ENFORCE_SEC = Long.getLong("agent.proxies.enforceSec", 5);

  private static final long REPORT_MS = 1_000;

  /** After a report that did not come, others are not waited for so long. */
  private static final long STALL_NS = TimeUnit.SECONDS.toNanos(5);

  private final ProxyChild.Launch launch;
  private final LongSupplier clockNs;
  private final ProxyChild.Parts parts;
  private final Options options;
  private final ProcessWatch watch;
  private final boolean isWatching;
  private final Map<RedirectKind, Integer> ports = new EnumMap<>(RedirectKind.class);
  private volatile Consumer<String> lost = reason -> {};
  private volatile ProxyChild child;
  private volatile AccessLog log;
  private volatile ProxyCounts former = ProxyCounts.NONE;
  private volatile ProxyCounts last = ProxyCounts.NONE;
  private volatile long stalledNs;
  private volatile boolean isStarting;
  private volatile boolean isClosed;
  private Thread watching;

  /**
   * What options say, and what is written and heard here.
   *
   * @param http returns the configuration of the HTTP proxy
   * @param dns returns that of the DNS proxy
   * @param labels returns the labels of an identity for the access log
   * @param isHeard returns whether events of requests and questions are wanted, the log aside
   */
  public record Options(
      Supplier<HttpProxyContext> http,
      Supplier<DnsProxyContext> dns,
      IntFunction<List<String>> labels,
      BooleanSupplier isHeard) {}

  /**
   * Creates the proxies without starting the process.
   *
   * @param main the class that an agent begins with
   */
  public RemoteProxies(Class<?> main, ProxyChild.Parts parts, Options options) {
    this(() -> ProcessCommand.start(main.getName()), parts, options, System::nanoTime, true);
  }

  /**
   * Creates the proxies with another process and another clock.
   *
   * @param isWatching whether a thread looks after the process; otherwise {@link #stepWatch} is
   *     called
   */
  RemoteProxies(
      ProxyChild.Launch launch,
      ProxyChild.Parts parts,
      Options options,
      LongSupplier clockNs,
      boolean isWatching) {
    watch = new ProcessWatch(clockNs);
    this.isWatching = isWatching;
    this.launch = launch;
    this.options = options;
    this.clockNs = clockNs;
    stalledNs = clockNs.getAsLong() - STALL_NS;
    final RequestListener requests = parts.requests();
    this.parts =
        new ProxyChild.Parts(
            parts.redirect(),
            parts.policies(),
            parts.gate(),
            request -> tell(request, requests),
            parts.questions());
  }

  private void tell(RequestRecord request, RequestListener listener) {
    final AccessLog open = log;
    if (open != null) {
      open.onRequest(request);
    }
    listener.onRequest(request);
  }

  @Override
  public synchronized int start(RedirectKind kind) throws IOException {
    if (isClosed) {
      throw new ProxyProcessException("the agent is stopping");
    }
    isStarting = true;
    try {
      return startWithin(kind);
    } finally {
      isStarting = false;
    }
  }

  /** Each answer has {@link #START_SEC}: a process that opens a proxy answers nothing else. */
  private int startWithin(RedirectKind kind) throws IOException {
    final FrameWriter.Body context = context(kind);
    ProxyChild running = child;
    if (running == null || !running.isAlive()) {
      running = ProxyChild.start(launch, parts, this::ended);
      child = running;
      try {
        await(running.ready());
      } catch (RuntimeException e) {
        running.endAndWait("not ready");
        throw e;
      }
      keepWatch();
      LOGGER.info("proxy process: pid {}, {}", running.pid(), ProcessPrivileges.of(running.pid()));
    }
    running.hear(hears());
    final int former =
        ports.containsKey(kind) ? ports.get(kind) : parts.redirect().previousPort(kind);
    final int port = await(running.open(kind, former, context));
    ports.put(kind, port);
    if (kind == RedirectKind.DNS) {
      ThreadPriority.raise(Path.of("/proc", Long.toString(running.pid()), "task"), DnsProxy.THREAD);
    }
    return port;
  }

  private void keepWatch() {
    if (isWatching && watching == null) {
      watching = Thread.ofPlatform().daemon().name("proxy-watch").start(this::watchAlways);
    }
  }

  private void watchAlways() {
    while (!isClosed) {
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(ProcessWatch.PERIOD_MS));
      stepWatch();
    }
  }

  /** Ends a process that has not answered for long; for one thread. */
  void stepWatch() {
    watch.step(isStarting || isClosed ? null : child);
  }

  /** Returns what writes the configuration; the access log is open then. */
  private FrameWriter.Body context(RedirectKind kind) throws IOException {
    if (kind == RedirectKind.DNS) {
      final DnsProxyContext dns = options.dns().get();
      return out -> ContextCodec.write(out, dns);
    }
    final HttpProxyContext http = options.http().get();
    if (http.accessLog() != null && log == null) {
      log = AccessLog.open(http.accessLog(), options.labels());
    }
    return out -> ContextCodec.write(out, http);
  }

  private static <T> T await(CompletableFuture<T> answer) {
    try {
      return answer.get(START_SEC, TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      throw e.getCause() instanceof ProxyProcessException gone
          ? gone
          : new OperationException(e.getCause().getMessage(), e.getCause());
    } catch (TimeoutException e) {
      throw new ProxyProcessException(
          "the proxy process did not answer within " + START_SEC + " s");
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new ProxyProcessException("the agent is stopping");
    }
  }

  private void ended(ProxyChild gone) {
    former = withoutGauges(last);
    last = former;
    if (!isClosed) {
      LOGGER.error("the proxy process has ended: {}", gone.reason());
      lost.accept("the proxy process has ended: " + gone.reason());
    }
  }

  private static ProxyCounts withoutGauges(ProxyCounts report) {
    final ProxyCounts.Connections http = report.http();
    return new ProxyCounts(
        report.requests(),
        new ProxyCounts.Connections(0, http.refused(), http.closedIdle(), http.unloggedRequests()),
        report.questions(),
        Map.of());
  }

  @Override
  public CompletableFuture<Void> enforce() {
    final ProxyChild running = child;
    if (running == null || !running.isAlive()) {
      return CompletableFuture.completedFuture(null);
    }
    final CompletableFuture<Void> obeyed = running.enforce();
    obeyed
        .copy()
        .orTimeout(ENFORCE_SEC, TimeUnit.SECONDS)
        .whenComplete(
            (done, failure) -> {
              if (failure instanceof TimeoutException) {
                running.end("did not apply the rules within " + ENFORCE_SEC + " s");
              }
            });
    return obeyed.exceptionally(gone -> null); // with all that was open
  }

  @Override
  public ProxyCounts report(int endpointId) {
    final ProxyChild running = child;
    if (running != null && running.isAlive() && clockNs.getAsLong() - stalledNs >= STALL_NS) {
      try {
        final ProxyCounts counted =
            running.report(endpointId).get(REPORT_MS, TimeUnit.MILLISECONDS).after(former);
        last = counted;
        return withLog(counted);
      } catch (TimeoutException e) {
        stalledNs = clockNs.getAsLong();
      } catch (ExecutionException e) {
        LOGGER.debug("reading the counters of the proxies failed: {}", e.getCause().getMessage());
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
    return withLog(new ProxyCounts(last.requests(), last.http(), last.questions(), Map.of()));
  }

  /** A request that is not in the log was dropped on the way, or could not be written. */
  private ProxyCounts withLog(ProxyCounts report) {
    final AccessLog open = log;
    final ProxyCounts.Connections http = report.http();
    return new ProxyCounts(
        report.requests(),
        new ProxyCounts.Connections(
            http.open(),
            http.refused(),
            http.closedIdle(),
            open == null ? 0 : http.unloggedRequests() + open.dropped()),
        report.questions(),
        report.redirects());
  }

  @Override
  public void forget(int endpointId) {
    final ProxyChild running = child;
    if (running != null) {
      running.forget(endpointId);
    }
  }

  @Override
  public void reopen() {
    final AccessLog open = log;
    if (open != null) {
      open.reopen();
    }
    hearingChanged();
  }

  /** Makes the process report requests while there is a listener. */
  public void hearingChanged() {
    final ProxyChild running = child;
    if (running != null && running.isAlive()) {
      running.hear(hears());
    }
  }

  private boolean hears() {
    return log != null || options.isHeard().getAsBoolean();
  }

  @Override
  public void whenLost(Consumer<String> listener) {
    lost = listener;
  }

  @Override
  public Optional<String> process() {
    return Optional.ofNullable(child)
        .map(
            running ->
                running.isAlive()
                    ? "pid %d; %s".formatted(running.pid(), ProcessPrivileges.of(running.pid()))
                    : "ended: " + running.reason());
  }

  @Override
  public void close() {
    isClosed = true;
    final ProxyChild running = child;
    if (running != null) {
      running.close();
    }
    final AccessLog open = log;
    if (open != null) {
      open.close();
    }
  }
}
