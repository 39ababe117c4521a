package agent.launcher;

import agent.bindings.BindingsException;
import agent.bindings.bpf.LibBpf;
import agent.conductor.HealthBoard;
import agent.datapath.manager.DatapathManager;
import agent.datapath.spec.NodeRedirects;
import agent.dns.proxy.NameGate;
import agent.domain.AgentDomain;
import agent.domain.DomainContext;
import agent.domain.node.HostName;
import agent.domain.node.LockedNode;
import agent.domain.proxy.NodeProxies;
import agent.domain.proxy.ProxyChild;
import agent.domain.proxy.ProxyHost;
import agent.domain.proxy.RemoteProxies;
import agent.endpoint.EndpointContext;
import agent.endpoint.config.RuntimeOptions;
import agent.identity.IdentityAllocator;
import agent.launcher.options.OptionException;
import agent.launcher.view.ApiConnectionView;
import agent.launcher.view.BuildMetricSource;
import agent.launcher.view.MonitorHealth;
import agent.launcher.view.StartedParts;
import agent.policy.PolicyFeed;
import agent.server.ApiServer;
import agent.server.metrics.MetricsServer;
import agent.server.monitor.AgentEvents;
import agent.server.monitor.EndpointEvents;
import agent.server.monitor.MonitorServer;
import agent.server.monitor.NameEvents;
import agent.server.monitor.PolicyEvents;
import agent.server.monitor.QuestionEvents;
import agent.server.monitor.RequestEvents;
import agent.server.monitor.ServiceEvents;
import agent.state.AgentState;
import agent.types.AlreadyInUseException;
import agent.types.OperationException;
import agent.types.Refusal;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionException;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Starts what the agent consists of in this order: locks of the state directory, the BPF root and
 * the network namespace, socket (which answers 503 until all is ready), domain, live events, all
 * routes. The endpoints of the previous run are restored while the API is served.
 */
final class Daemon implements AutoCloseable {
  private static final Logger LOGGER = LogManager.getLogger(Daemon.class);
  private static final Duration LOAD_INTERVAL = Duration.ofMinutes(1);

  private final Settings settings;
  private final Deque<AutoCloseable> parts = new ArrayDeque<>();
  private final SystemLoad load = new SystemLoad(Path.of("/proc"), LOGGER::info);
  private final AgentEvents events;
  private ApiServer server;
  private AgentDomain domain;
  private RuntimeOptions configured;

  Daemon(Settings settings) {
    this.settings = settings;
    events = settings.events();
    configured = settings.runtimeOptions();
  }

  /**
   * Starts all parts; returns when the datapath is ready and the API serves all routes. libbpf is
   * loaded first, so that nothing is changed on a machine that lacks it; then everything is locked
   * that a second agent would share.
   *
   * @throws AlreadyInUseException where another agent has the state directory, the BPF root, the
   *     network namespace or the socket
   * @throws BindingsException where libbpf is missing or too old
   * @throws OptionException naming an option whose value is not valid on this machine
   * @throws Refusal where the kernel lacks a feature or the node cannot be set up
   * @throws IOException where the socket cannot be bound
   */
  void start() throws IOException, InterruptedException {
    LibBpf.ensureLoaded();
    checkDescriptorLimit();
    final AgentState state =
        keep(refusalNamesOption(
                () -> LockedNode.acquire(settings.stateDirectory(), settings.bpfRoot())))
            .state();
    final DaemonRoutes routes =
        new DaemonRoutes(settings.shown(), settings.proxies().escapedSlashes());
    final ApiConnectionView connections = serveStarting(routes);
    if (!settings.restores()) {
      state.discard();
    }
    domain = keep(new AgentDomain(context(state)));
    refusalNamesOption(
        () -> {
          domain.start();
          return domain;
        });
    load.enable(settings.logsSystemLoad());
    keep(HeapReturn.start(server::changes));
    final MonitorServer monitor = monitor(domain.datapath());
    addModules(domain.datapath().health(), connections, monitor);
    final NodeProxies proxies = domain.proxies();
    routes.add(ProxyMetricSource.of(proxies));
    routes.add(new ProxyTraffic(proxies, domain.requests()), proxies::process);
    final StartedParts started =
        StartedParts.of(
            domain,
            monitor::subscribers,
            ProxyStatus.of(proxies, domain.endpoints(), domain.requests()));
    server.serve(routes.ready(started, domain.identities(), domain.cidrIdentities()));
  }

  /** Returns what options say of the domain, and who hears of what happens in it. */
  private DomainContext context(AgentState state) {
    return new DomainContext()
        .state(state)
        .node(settings.node(), settings.mtu())
        .name(settings.clusterName(), HostName.read())
        .hostRouting(settings.hostRouting())
        .masquerade(settings.masquerade())
        .balancer(settings.services().balancer())
        .fixedIdentities(settings.fixedIdentities())
        .runtimeOptions(settings.runtimeOptions())
        .datapath(settings.datapath())
        .flows(settings.flows())
        .policy(settings.policy())
        .names(settings.names().context(), settings.names().polls())
        .mostBackends(settings.services().maxBackends())
        .endpoints(
            new EndpointContext()
                .nodeDevices(settings.nodeDevices())
                .labelFilter(settings.labelFilter())
                .keepsOptions(settings.keepsEndpointOptions())
                .obstacle(count -> DescriptorShares.obstacle(settings, count, "")))
        .proxies(this::proxyHost)
        .endpointObserver(new EndpointEvents(events))
        .policyObserver(new PolicyEvents(events))
        .serviceObserver(new ServiceEvents(events))
        .lookupObserver(
            settings.names().tellsLookups() ? new NameEvents(events) : (name, answer) -> {})
        .periodic("system-load", LOAD_INTERVAL, load::log);
  }

  /** Returns the proxies in a process of their own, which runs this program once more. */
  private ProxyHost proxyHost(
      NodeRedirects redirect, PolicyFeed policies, NameGate gate, IdentityAllocator identities) {
    final ProxyOptions options = settings.proxies();
    final RemoteProxies host =
        new RemoteProxies(
            DaemonProcess.class,
            new ProxyChild.Parts(
                redirect, policies, gate, new RequestEvents(events), new QuestionEvents(events)),
            new RemoteProxies.Options(
                options::http, options::dns, id -> labels(identities, id), events::hearsRequests));
    events.whenHearing(host::hearingChanged);
    return host;
  }

  private static List<String> labels(IdentityAllocator identities, int id) {
    return identities.find(id).map(identity -> identity.labels().toStrings()).orElse(List.of());
  }

  /** Serves live events on the socket beside that of the API. */
  private MonitorServer monitor(DatapathManager datapath) throws IOException {
    return keep(
        MonitorServer.start(
            settings.monitorPath(),
            settings.socketGroup(),
            settings.monitorQueueEvents(),
            settings.packetBytes(),
            Version.number(),
            datapath.events(),
            events));
  }

  /** Starts the API during the start of the agent, and serves the metrics that exist so far. */
  private ApiConnectionView serveStarting(DaemonRoutes routes) throws IOException {
    server = keep(ApiServer.start(settings.api(events), routes.starting()));
    final ApiConnectionView connections =
        new ApiConnectionView(server::connections, server::socketFault);
    routes.add(connections);
    routes.add(new BuildMetricSource(Version.number(), Version.commit(), settings.agentLabels()));
    serveMetrics(routes);
    openToSocketGroup(settings.stateDirectory());
    return connections;
  }

  private void addModules(
      HealthBoard health, ApiConnectionView connections, MonitorServer monitor) {
    health.add(ApiConnectionView.MODULE, connections);
    health.add(DescriptorHealth.MODULE, DescriptorHealth.of(settings, domain.endpoints()));
    health.add(MonitorHealth.MODULE, new MonitorHealth(monitor::subscribers, monitor::fault));
  }

  /** Applies the options that can change while the agent runs, except those of the log. */
  void apply(Settings changed) {
    configure(changed.runtimeOptions());
    server.limit(changed.rateLimits());
    load.enable(changed.logsSystemLoad());
  }

  /** Opens the logs of the proxies by their names again. */
  void reopenLogs() {
    domain.proxies().reopenLogs();
  }

  /** Only what differs from the options before: a client may have changed the rest. */
  private void configure(RuntimeOptions next) {
    final Map<String, String> changes = new LinkedHashMap<>(next.toMap());
    changes.entrySet().removeAll(configured.toMap().entrySet());
    final boolean isEnforcement = next.enforcement() != configured.enforcement();
    if (!changes.isEmpty() || isEnforcement) {
      try {
        domain
            .configuration()
            .change(changes, isEnforcement ? next.enforcement().text() : null)
            .join();
      } catch (CompletionException failure) {
        throw new OptionException(failure.getCause().getMessage());
      }
      configured = next;
    }
  }

  private void serveMetrics(DaemonRoutes routes) {
    try {
      settings.metricsAddress().ifPresent(at -> keep(MetricsServer.start(at, routes.metrics())));
    } catch (IllegalArgumentException failure) {
      throw new OptionException("--" + failure.getMessage());
    }
  }

  /** Stops the parts in reverse order; programs stay attached and enforce policy. */
  @Override
  public void close() {
    synchronized (parts) {
      while (!parts.isEmpty()) {
        final AutoCloseable part = parts.pop();
        try {
          part.close();
        } catch (Exception e) {
          LOGGER.error("stopping {}: {}", part.getClass().getSimpleName(), e.toString(), e);
        }
      }
    }
  }

  private <T extends AutoCloseable> T keep(T part) {
    synchronized (parts) {
      parts.push(part);
    }
    return part;
  }

  /** Below the limit the agent could start, and would then fail in the middle of its work. */
  private void checkDescriptorLimit() {
    final int endpoints = DescriptorShares.storedEndpoints(settings.stateDirectory());
    DescriptorShares.obstacle(settings, endpoints, " of its state")
        .ifPresent(
            obstacle -> {
              throw new OperationException(obstacle);
            });
  }

  /** Allows the group of the socket enter the state directory where the socket is in it. */
  private void openToSocketGroup(Path state) throws IOException {
    if (state.equals(settings.socketPath().getParent())) {
      Files.setPosixFilePermissions(state, PosixFilePermissions.fromString("rwxr-xr-x"));
    }
  }

  /** A start that a thread waits for, and that it may be interrupted in. */
  @FunctionalInterface
  private interface Start<T> {
    T start() throws InterruptedException;
  }

  /** Turns the refusal of an invalid value into an error of the option with the same name. */
  private static <T> T refusalNamesOption(Start<T> part) throws InterruptedException {
    try {
      return part.start();
    } catch (Refusal e) {
      if (e.kind() == Refusal.Kind.INVALID) {
        throw new OptionException("--" + e.getMessage());
      }
      throw e;
    }
  }
}
