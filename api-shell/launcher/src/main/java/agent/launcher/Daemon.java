package agent.launcher;

import agent.bindings.BindingsException;
import agent.bindings.LibBpf;
import agent.conductor.ConductorAgent;
import agent.conductor.HealthBoard;
import agent.conductor.Repairs;
import agent.datapath.manager.DatapathManager;
import agent.datapath.manager.attach.Pins;
import agent.dns.HeldShares;
import agent.dns.Names;
import agent.domain.EndpointModuleHealth;
import agent.domain.EndpointRestoration;
import agent.domain.FormerNumbers;
import agent.domain.PeriodicController;
import agent.domain.RemovedEndpoints;
import agent.domain.StateWriters;
import agent.domain.node.HostName;
import agent.domain.node.HostRoutingHealth;
import agent.domain.node.NodeAddressHealth;
import agent.domain.node.NodeLocks;
import agent.domain.node.NodeMasquerading;
import agent.domain.proxy.NodeProxies;
import agent.domain.proxy.ProxiedPolicyMaps;
import agent.domain.proxy.ProxyChild;
import agent.domain.proxy.RemoteProxies;
import agent.endpoint.DaemonConfiguration;
import agent.endpoint.EndpointConductor;
import agent.endpoint.EndpointContext;
import agent.endpoint.PolicyService;
import agent.endpoint.build.TranslationTrace;
import agent.endpoint.config.RuntimeConfiguration;
import agent.endpoint.config.RuntimeOptions;
import agent.identity.IdentityAllocator;
import agent.identity.LocalCidrIdentityAllocator;
import agent.identity.LocalIdentityAllocator;
import agent.ipam.Ipam;
import agent.launcher.options.OptionException;
import agent.launcher.view.ApiConnectionView;
import agent.launcher.view.BuildMetricSource;
import agent.launcher.view.ConfigurationView;
import agent.launcher.view.MonitorHealth;
import agent.launcher.view.StartedParts;
import agent.maps.layout.ServiceForwarding;
import agent.node.ClusterNode;
import agent.node.ClusterNodes;
import agent.node.HostRoutingWatch;
import agent.node.Node;
import agent.node.NodeInventory;
import agent.policy.PolicyContext;
import agent.policy.PolicyEngine;
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
import agent.service.Services;
import agent.state.AgentState;
import agent.types.AlreadyInUseException;
import agent.types.OperationException;
import agent.types.Refusal;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Starts the parts of the agent in this order: locks of the state directory, the BPF root and the
 * network namespace, socket (which answers 503 until all parts are ready), node, domain, datapath,
 * records of the previous run, all routes. The endpoints of the previous run are restored while the
 * API is served.
 */
final class Daemon implements AutoCloseable {
  private static final Logger LOGGER = LogManager.getLogger(Daemon.class);
  private static final Duration STATE_RETRY = Duration.ofSeconds(1);
  private static final Duration ROUTING_POLL = Duration.ofSeconds(2);
  private static final Duration RULES_POLL = Duration.ofSeconds(1);
  private static final Duration INVENTORY_POLL = Duration.ofSeconds(5);
  private static final Duration LOAD_INTERVAL = Duration.ofMinutes(1);
  private static final long CONDUCTOR_STALL_NS = TimeUnit.SECONDS.toNanos(2);

  private final Settings settings;
  private final Deque<AutoCloseable> parts = new ArrayDeque<>();
  private final SystemLoad load = new SystemLoad(Path.of("/proc"), LOGGER::info);
  private final StateWriters writers = new StateWriters();
  private final AgentEvents events;
  private ApiServer server;
  private volatile NodeProxies proxies;
  private DaemonConfiguration configuration;
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
    final AgentState state = lock();
    final ConfigurationView shown = settings.shown();
    final DaemonRoutes routes = new DaemonRoutes(shown, settings.proxies().escapedSlashes());
    final ApiConnectionView connections = serveStarting(routes);
    if (!settings.restores()) {
      state.discard();
    }
    final Node node = node(state);
    final var identities = new LocalIdentityAllocator(settings.fixedIdentities());
    final var cidrIdentities = new LocalCidrIdentityAllocator();
    final Ipam ipam = Ipam.open(settings.ipam(node.addressing(), state.leaseStore(), writers));
    final RuntimeConfiguration restored =
        RuntimeConfiguration.restore(settings.runtimeOptions(), state.configurationStore());
    final var engine = new AtomicReference<PolicyEngine>();
    final Names names = names(node, state, engine);
    final HostRoutingWatch routing = HostRoutingWatch.start(settings.hostRouting());
    final NodeMasquerading masquerading = masquerading(node, routing);
    final DatapathManager datapath = datapath(state, node, routing);
    final var rules = settings.policy(identities, cidrIdentities, state.policyStore());
    rules.storing(state.store()::run);
    final Services services = services(state, datapath);
    engine.set(policy(rules.mode(restored.wanted().enforcement()), names, services, datapath));
    proxies = proxies(datapath, engine.get(), names, identities, routes);
    final EndpointConductor conductor =
        EndpointConductor.launch(
            endpoints(state, node, datapath, names)
                .configuration(restored)
                .identities(identities)
                .ipam(ipam)
                .policy(engine.get()));
    configuration = conductor.configuration();
    final var inventory = new AtomicReference<NodeInventory>(node.inventory());
    final var controllers =
        controllers(state, node, routing, datapath, inventory, masquerading, conductor.agent());
    keep(datapath.threads().start(conductor.agent(), CONDUCTOR_STALL_NS));
    addModules(datapath.health(), state, conductor, connections, routing);
    EndpointRestoration.begin(datapath, conductor);
    keep(HeapReturn.start(server::changes));
    start(names, services, conductor, datapath);
    final StartedParts parts =
        new StartedParts(
            node.addressing(),
            inventory::get,
            nodes(shown.self(), node, inventory),
            routing::current,
            masquerading::mode,
            ipam,
            datapath,
            monitor(datapath)::subscribers,
            conductor.endpoints(),
            conductor.policy(),
            services,
            names,
            ProxyStatus.of(proxies, conductor.endpoints(), engine.get().requests()),
            configuration,
            controllers);
    server.serve(routes.ready(parts, identities, cidrIdentities));
  }

  private static PolicyEngine policy(
      PolicyContext rules, Names names, Services services, DatapathManager datapath) {
    return PolicyEngine.open(
        rules
            .names(names.addresses())
            .services(services.namedBackends())
            .formerNumbers(FormerNumbers.read(datapath.ipcache()))
            .conclude());
  }

  /**
   * Acquires the locks, of the state directory first where it has one; returns what the previous
   * run stored. Where there is no state, maps of a previous run prove that there was one.
   */
  private AgentState lock() throws InterruptedException {
    checkDescriptorLimit();
    final Path directory = settings.stateDirectory();
    if (!AgentState.hasLock(directory) && Pins.hasMaps(settings.bpfRoot())) {
      keep(NodeLocks.take(settings.bpfRoot())); // the pins are not those of an agent that runs
      return keep(refusalNamesOption(() -> AgentState.open(directory, true)));
    }
    final AgentState state = keep(refusalNamesOption(() -> AgentState.open(directory)));
    keep(NodeLocks.take(settings.bpfRoot()));
    return state;
  }

  /** Opens the names; answers of servers are looked at when there is a policy. */
  private Names names(Node node, AgentState state, AtomicReference<PolicyEngine> policy) {
    return Names.open(
        settings
            .names()
            .context(node.addressing(), state.nameStore(), name -> policy.get().selectsName(name)));
  }

  /** Returns the proxies that policy may send flows to, none of which is started. */
  private NodeProxies proxies(
      DatapathManager datapath,
      PolicyEngine policy,
      Names names,
      IdentityAllocator identities,
      DaemonRoutes routes) {
    final NodeProxies created =
        keep(new NodeProxies(datapath.redirects(), proxyHost(datapath, policy, names, identities)));
    datapath.health().add(NodeProxies.MODULE, created::health);
    routes.add(ProxyMetricSource.of(created));
    routes.add(new ProxyTraffic(created, policy.requests()), created::process);
    return created;
  }

  private RemoteProxies proxyHost(
      DatapathManager datapath, PolicyEngine policy, Names names, IdentityAllocator identities) {
    final ProxyOptions options = settings.proxies();
    final RemoteProxies host =
        new RemoteProxies(
            DaemonProcess.class,
            new ProxyChild.Parts(
                datapath.redirects(),
                policy.requests(),
                names::found,
                new RequestEvents(events),
                new QuestionEvents(events)),
            new RemoteProxies.Options(
                options::http, options::dns, id -> labels(identities, id), events::hearsRequests));
    events.whenHearing(host::hearingChanged);
    return host;
  }

  private static List<String> labels(IdentityAllocator identities, int id) {
    return identities.find(id).map(identity -> identity.labels().toStrings()).orElse(List.of());
  }

  /** Makes policy follow services and names; forgets lookups of removed endpoints. */
  private void start(
      Names names, Services services, EndpointConductor conductor, DatapathManager datapath) {
    final PolicyService policy = conductor.policy();
    services.follow(policy::services);
    datapath
        .health()
        .add(DescriptorHealth.MODULE, DescriptorHealth.of(settings, conductor.endpoints()));
    datapath.health().add("names", names.faults());
    datapath.health().add(HeldShares.MODULE, names.heldShares());
    names.start(
        policy::names,
        policy::wantedNames,
        settings.names().tellsLookups() ? new NameEvents(events) : (name, answer) -> {});
    keep(names);
    datapath.watch(names.addressUse());
    names.keepEndpoints(RemovedEndpoints.present(conductor.endpoints()));
  }

  /** Restores the services, which rules select; events tell of what changes from then on. */
  private Services services(AgentState state, DatapathManager datapath) {
    final boolean hasBalancer = datapath.status().balancerMode() != null;
    final Services services =
        Services.restore(
            datapath.services(),
            state.serviceStore(),
            HostName.read(),
            hasBalancer ? ServiceForwarding.DSR : ServiceForwarding.DEFAULT);
    services.limit(settings.services().maxBackends());
    services.observe(new ServiceEvents(events));
    return services;
  }

  /** Serves live events on the socket beside that of the API. */
  private MonitorServer monitor(DatapathManager datapath) throws IOException {
    final MonitorServer monitor =
        keep(
            MonitorServer.start(
                settings.monitorPath(),
                settings.socketGroup(),
                settings.monitorQueueEvents(),
                settings.packetBytes(),
                Version.number(),
                datapath.events(),
                events));
    datapath
        .health()
        .add(MonitorHealth.MODULE, new MonitorHealth(monitor::subscribers, monitor::fault));
    return monitor;
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

  private DatapathManager datapath(AgentState state, Node node, HostRoutingWatch routing) {
    return keep(
        refusalNamesOption(
            () ->
                DatapathManager.launch(
                    settings.datapath(
                        node.addressing(),
                        node.guardedDevices().present(),
                        node.guardedDevices().addresses(),
                        routing.current().bypassesStack(),
                        state.prefilterStore()),
                    settings.flows())));
  }

  /** Starts periodic tasks: those in the namespace of the node on the thread of the endpoints. */
  private List<PeriodicController> controllers(
      AgentState state,
      Node node,
      HostRoutingWatch routing,
      DatapathManager datapath,
      AtomicReference<NodeInventory> inventory,
      NodeMasquerading masquerading,
      ConductorAgent endpoints) {
    load.enable(settings.logsSystemLoad());
    datapath
        .health()
        .add(
            NodeAddressHealth.MODULE,
            new NodeAddressHealth(node.addressing(), () -> inventory.get().addresses()));
    final var controllers =
        new ArrayList<>(
            List.of(
                controller(
                    "host-routing-watch", ROUTING_POLL, () -> routing.poll(datapath::bypassStack)),
                controller("node-inventory", INVENTORY_POLL, () -> inventory.set(node.inventory())),
                controller("system-load", LOAD_INTERVAL, load::log)));
    controllers.forEach(controller -> controller.start(endpoints));
    controllers.add(controller("state-write-retry", STATE_RETRY, state::retry));
    controllers.getLast().start(state.store());
    keep(datapath.threads().start(state.store(), CONDUCTOR_STALL_NS));
    controllers.add(maintain(masquerading, datapath));
    return controllers;
  }

  private Node node(AgentState state) {
    return refusalNamesOption(() -> Node.open(settings.node(), settings.mtu(), state.nodeStore()));
  }

  private NodeMasquerading masquerading(Node node, HostRoutingWatch routing) {
    return NodeMasquerading.start(settings.masquerade(), node.addressing(), routing::current);
  }

  /** Starts the thread that waits for programs of the node. */
  private PeriodicController maintain(NodeMasquerading masquerading, DatapathManager datapath) {
    final Repairs repairs = datapath.repairs();
    datapath.health().add(NodeMasquerading.MODULE, masquerading.health());
    masquerading.addRefusals(datapath.ports());
    final ScheduledExecutorService thread =
        keep(
            Executors.newSingleThreadScheduledExecutor(
                Thread.ofPlatform().name("node-rules").daemon().factory()));
    final PeriodicController controller =
        controller("masquerade-rules", RULES_POLL, () -> masquerading.keep(repairs));
    controller.start(thread);
    return controller;
  }

  /** Applies the options that can change while the agent runs, except those of the log. */
  void apply(Settings changed) {
    configure(changed.runtimeOptions());
    server.limit(changed.rateLimits());
    load.enable(changed.logsSystemLoad());
  }

  /** Opens the logs of the proxies by their names again. */
  void reopenLogs() {
    proxies.reopenLogs();
  }

  /** Only what differs from the options before: a client may have changed the rest. */
  private void configure(RuntimeOptions next) {
    final Map<String, String> changes = new LinkedHashMap<>(next.toMap());
    changes.entrySet().removeAll(configured.toMap().entrySet());
    final boolean isEnforcement = next.enforcement() != configured.enforcement();
    if (!changes.isEmpty() || isEnforcement) {
      try {
        configuration.change(changes, isEnforcement ? next.enforcement().text() : null).join();
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

  /** Returns what the endpoints have of the node and the datapath. */
  private EndpointContext endpoints(
      AgentState state, Node node, DatapathManager datapath, Names names) {
    final ProxiedPolicyMaps policyMaps = new ProxiedPolicyMaps(datapath.policyMaps(), proxies);
    return new EndpointContext()
        .node(node)
        .nodeDevices(settings.nodeDevices())
        .guarded(node.guardedDevices(), datapath.devices())
        .datapath(datapath.endpoints(), policyMaps, policyMaps.inOrder(datapath.ipcache()))
        .store(state.endpointStore())
        .translationTrace(new TranslationTrace(datapath.events())::enable)
        .storing(keep(writers))
        .observer(
            new EndpointEvents(events)
                .andThen(new RemovedEndpoints(names::endpointRemoved, proxies::endpointRemoved)))
        .policyObserver(new PolicyEvents(events))
        .repairs(datapath.repairs())
        .faults(datapath.endpointFaults())
        .labelFilter(settings.labelFilter())
        .keepsOptions(settings.keepsEndpointOptions())
        .obstacle(count -> DescriptorShares.obstacle(settings, count, ""))
        .clusterName(settings.clusterName())
        .nodeName(HostName.read());
  }

  private static ClusterNodes nodes(
      String self, Node node, AtomicReference<NodeInventory> inventory) {
    return new ClusterNodes(
        () -> List.of(ClusterNode.local(self, node.addressing(), inventory.get().addresses())),
        System::nanoTime);
  }

  private static PeriodicController controller(String name, Duration interval, Runnable task) {
    return new PeriodicController(name, interval, InstantSource.system(), task);
  }

  private static void addModules(
      HealthBoard health,
      AgentState state,
      EndpointConductor conductor,
      ApiConnectionView connections,
      HostRoutingWatch routing) {
    health.add("state", state.faults());
    health.add(EndpointModuleHealth.MODULE, new EndpointModuleHealth(conductor.endpoints()));
    health.add("node", conductor.nodeFaults());
    health.add("restore", conductor.restoreProgress());
    health.add(ApiConnectionView.MODULE, connections);
    health.add(HostRoutingHealth.MODULE, new HostRoutingHealth(routing::current));
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

  /** Turns the refusal of an invalid value into an error of the option with the same name. */
  private static <T> T refusalNamesOption(Supplier<T> part) {
    try {
      return part.get();
    } catch (Refusal e) {
      if (e.kind() == Refusal.Kind.INVALID) {
        throw new OptionException("--" + e.getMessage());
      }
      throw e;
    }
  }
}
