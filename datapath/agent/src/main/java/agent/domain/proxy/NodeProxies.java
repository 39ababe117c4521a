package agent.domain.proxy;

import agent.conductor.HealthBoard;
import agent.datapath.spec.RedirectProxy;
import agent.maps.layout.RedirectKind;
import agent.types.IoFailure;
import agent.types.IpAddress;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * The proxies of this node. Each is started when the first policy asks for it: most nodes have
 * none, and pay no memory for it. One that cannot be started is tried again every few seconds and
 * with the next policy that asks for it; until then what opens flows to it is dropped, and the
 * health tells. Those that have ended with their process are started again, and until then it is
 * the same.
 */
public final class NodeProxies implements AutoCloseable {
  /** Name of the health module. */
  public static final String MODULE = "proxies";

  private static final long SHORTEST_PAUSE_MS = 50;
  private static final long LONGEST_PAUSE_MS = 30_000;

  /** A process that has served for so long is no one that ends at its start. */
  private static final long STABLE_NS = TimeUnit.MINUTES.toNanos(1);

  private static final Logger LOGGER = LogManager.getLogger(NodeProxies.class);

  private final RedirectProxy redirect;
  private final ProxyHost host;
  private final ScheduledExecutorService starting;
  private final LongSupplier clockNs;
  private final Set<RedirectKind> served = EnumSet.noneOf(RedirectKind.class);
  private final Set<RedirectKind> wanted = EnumSet.noneOf(RedirectKind.class);
  private final Map<RedirectKind, String> failures = new EnumMap<>(RedirectKind.class);
  private final Map<RedirectKind, Integer> firstPorts = new EnumMap<>(RedirectKind.class);
  private CompletableFuture<Void> pass = CompletableFuture.completedFuture(null);
  private CompletableFuture<Void> nextPass;
  private long pauseMs = SHORTEST_PAUSE_MS;
  private long startedNs;
  private int restarts;

  /** Creates the proxies without starting one. */
  public NodeProxies(RedirectProxy redirect, ProxyHost host) {
    this(
        redirect,
        host,
        Executors.newSingleThreadScheduledExecutor(
            Thread.ofPlatform().name("proxies").daemon().factory()),
        System::nanoTime);
  }

  /** Creates the proxies with another thread that starts them, and another clock. */
  NodeProxies(
      RedirectProxy redirect,
      ProxyHost host,
      ScheduledExecutorService starting,
      LongSupplier clockNs) {
    this.redirect = redirect;
    this.host = host;
    this.starting = starting;
    this.clockNs = clockNs;
    startedNs = clockNs.getAsLong();
    host.whenLost(this::lost);
  }

  /** Returns whether flows may be sent to these proxies. */
  public synchronized boolean serves(Set<RedirectKind> kinds) {
    return served.containsAll(kinds);
  }

  /** Starts the proxies that do not run yet; completes when they run, or could not be started. */
  public CompletableFuture<Void> need(Set<RedirectKind> kinds) {
    return CompletableFuture.runAsync(() -> kinds.forEach(this::start), starting);
  }

  /**
   * Enforces the published policies on what the proxies have open. Completes when that is so, or
   * after a time in which a proxy does not answer; does not fail. Calls during a pass share the
   * next one.
   */
  synchronized CompletableFuture<Void> enforce() {
    if (firstPorts.isEmpty()) {
      return CompletableFuture.completedFuture(null);
    }
    if (nextPass != null) {
      return nextPass;
    }
    if (pass.isDone()) {
      pass = host.enforce();
      return pass;
    }
    nextPass = pass.thenComposeAsync(ended -> beginNextPass());
    return nextPass;
  }

  private synchronized CompletableFuture<Void> beginNextPass() {
    pass = nextPass;
    nextPass = null;
    return host.enforce();
  }

  private void start(RedirectKind kind) {
    if (kind == RedirectKind.NONE || serves(Set.of(kind))) {
      return;
    }
    final int before = restarts();
    try {
      final int port = host.start(kind);
      started(kind, port);
      redirect.serve(kind, port).join();
      succeeded(kind, before);
    } catch (IOException | RuntimeException e) {
      failed(kind, e);
    }
  }

  private synchronized void started(RedirectKind kind, int port) {
    firstPorts.put(kind, port);
    wanted.add(kind);
    startedNs = clockNs.getAsLong();
  }

  /** A process that has ended meanwhile serves nothing. */
  private synchronized void succeeded(RedirectKind kind, int before) {
    if (restarts != before) {
      lost("the proxy process has ended");
    } else {
      served.add(kind);
      failures.remove(kind);
    }
  }

  private synchronized void failed(RedirectKind kind, Exception failure) {
    final String reason =
        failure instanceof IOException io ? IoFailure.sentence(io) : failure.getMessage();
    final String text = option(kind, failure) + reason;
    final String before = failures.put(kind, text);
    if (before == null) {
      LOGGER.error("starting the {} proxy failed: {}; retrying", kind, text, failure);
      again(Set.of(kind));
    }
  }

  /** Returns the option that a failure is about; an empty text where it is about none. */
  private static String option(RedirectKind kind, Exception failure) {
    if (kind == RedirectKind.DNS && !(failure instanceof ProxyProcessException)) {
      return "--tofqdns-proxy-port: ";
    }
    return failure instanceof FileSystemException ? "--access-log: " : "";
  }

  /** All proxies have ended: no flow is sent to them until they are started again. */
  private synchronized void lost(String reason) {
    served.clear();
    firstPorts.clear();
    for (final RedirectKind kind : wanted) {
      failures.put(kind, reason);
      redirect.serve(kind, 0);
    }
    if (clockNs.getAsLong() - startedNs > STABLE_NS) {
      pauseMs = SHORTEST_PAUSE_MS;
    }
    restarts++;
    again(Set.copyOf(wanted));
  }

  private synchronized void again(Set<RedirectKind> kinds) {
    try {
      starting.schedule(() -> startAgain(kinds), pauseMs, TimeUnit.MILLISECONDS);
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
    } catch (RejectedExecutionException e) {
      LOGGER.debug("the proxies are not restarted: the agent is stopping");
    }
  }

  /** A process that ends meanwhile has its own turn. */
  private void startAgain(Set<RedirectKind> kinds) {
    final int before = restarts();
    kinds.forEach(this::start);
    if (!serves(kinds) && before == restarts()) {
      again(kinds);
    }
  }

  private synchronized int restarts() {
    return restarts;
  }

  /** Returns why flows cannot be sent to these proxies; empty where they can. */
  synchronized Optional<String> refusal(Set<RedirectKind> kinds) {
    return kinds.stream()
        .filter(kind -> !served.contains(kind) && failures.containsKey(kind))
        .map(kind -> "the " + kind + " proxy is not running: " + failures.get(kind))
        .findFirst();
  }

  /**
   * Returns the address of this node that the proxies listen on, the IPv4 address if there is one.
   */
  public Optional<IpAddress> address() {
    return redirect.address(false).or(() -> redirect.address(true));
  }

  /** Returns the first of the ports that a proxy listens on; empty: it does not run. */
  public synchronized Optional<Integer> firstPort(RedirectKind kind) {
    return Optional.ofNullable(firstPorts.get(kind));
  }

  /**
   * Returns what the proxies have counted.
   *
   * @param endpointId whose redirects are counted; 0: none
   */
  public ProxyCounts report(int endpointId) {
    return host.report(endpointId);
  }

  /** Returns the process of the proxies, if there is one, and what it may do. */
  public Optional<String> process() {
    return host.process();
  }

  /** Forgets what was counted for an endpoint that is gone. */
  public void endpointRemoved(int endpointId) {
    host.forget(endpointId);
    enforce();
  }

  /** Opens the access log by its name again. */
  public void reopenLogs() {
    host.reopen();
  }

  /** Reads whether a proxy that policy asks for does not run. */
  public synchronized HealthBoard.Reading health() {
    return failures.isEmpty()
        ? HealthBoard.Reading.ok(
            served.isEmpty() ? "no policy requires a proxy" : "serving " + served)
        : HealthBoard.Reading.stopped("not running, their flows are dropped: " + failures);
  }

  @Override
  public void close() {
    host.close(); // first: the kernel kills a process whose starting thread ends
    starting.shutdownNow();
  }
}
