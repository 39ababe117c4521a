package agent.launcher;

import agent.bindings.BindingsException;
import agent.bindings.LibBpf;
import agent.bindings.ProcessAttributes;
import agent.datapath.manager.DatapathManager;
import agent.datapath.manager.thread.ConductorAgent;
import agent.datapath.manager.thread.HealthBoard;
import agent.endpoint.EndpointConductor;
import agent.endpoint.EndpointContext;
import agent.endpoint.restore.RestoreReport;
import agent.identity.IdentityAllocator;
import agent.identity.LocalCidrIdentityAllocator;
import agent.identity.LocalIdentityAllocator;
import agent.ipam.Ipam;
import agent.launcher.options.OptionException;
import agent.launcher.view.ApiConnectionView;
import agent.launcher.view.BuildMetricSource;
import agent.launcher.view.DaemonStatus;
import agent.launcher.view.EndpointModuleHealth;
import agent.launcher.view.HostRoutingHealth;
import agent.launcher.view.StartedParts;
import agent.node.HostRoutingWatch;
import agent.node.Node;
import agent.policy.PolicyEngine;
import agent.server.ApiServer;
import agent.server.metrics.MetricsServer;
import agent.state.AgentState;
import agent.types.AlreadyInUseException;
import agent.types.OperationException;
import agent.types.Refusal;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
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
  private static final String RESTORE_MODULE = "restore";
  private static final long LEAST_DESCRIPTORS = 256;
  private static final long STATE_RETRY_NS = TimeUnit.SECONDS.toNanos(1);
  private static final long LOAD_NS = TimeUnit.MINUTES.toNanos(1);
  private static final long ROUTING_POLL_NS = TimeUnit.SECONDS.toNanos(2);
  private static final long CONDUCTOR_STALL_NS = TimeUnit.SECONDS.toNanos(2);

  private final Settings settings;
  private final Deque<AutoCloseable> parts = new ArrayDeque<>();
  private final SystemLoad load = new SystemLoad(Path.of("/proc"), LOGGER::info);
  private ApiServer server;
  private PolicyEngine policy;

  Daemon(Settings settings) {
    this.settings = settings;
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
        keep(refusalNamesOption(() -> AgentState.open(settings.stateDirectory())));
    keep(NodeLocks.take(settings.bpfRoot()));
    final DaemonRoutes routes = new DaemonRoutes(new DaemonStatus(settings.shown()));
    server = keep(ApiServer.start(settings.api(), routes.starting()));
    final ApiConnectionView connections = new ApiConnectionView(server::connections);
    routes.add(connections);
    routes.add(new BuildMetricSource(Version.number(), Version.commit(), settings.agentLabels()));
    serveMetrics(routes);
    openToSocketGroup(settings.stateDirectory());
    if (!settings.restores()) {
      state.discard();
    }

    final Node node =
        refusalNamesOption(() -> Node.open(settings.node(), settings.mtu(), state.nodeStore()));
    final LocalIdentityAllocator identities =
        new LocalIdentityAllocator(settings.fixedIdentities());
    final LocalCidrIdentityAllocator cidrIdentities = new LocalCidrIdentityAllocator();
    final Ipam ipam = Ipam.open(settings.ipam(node.addressing(), state.leaseStore()));
    policy = PolicyEngine.open(settings.policy(identities, cidrIdentities, state.policyStore()));
    final HostRoutingWatch routing = HostRoutingWatch.start(settings.hostRouting());
    final DatapathManager datapath =
        keep(
            refusalNamesOption(
                () ->
                    DatapathManager.launch(
                        settings.datapath(
                            node.addressing(),
                            node.guardedDevices().present(),
                            routing.current().bypassesStack(),
                            state.prefilterStore()))));
    final EndpointConductor conductor = endpoints(state, node, datapath, identities, ipam, policy);
    retryWrites(conductor.agent(), state);
    follow(conductor.agent(), routing, datapath);
    load.enable(settings.logsSystemLoad());
    logLoad(conductor.agent());
    keep(datapath.threads().start(conductor.agent(), CONDUCTOR_STALL_NS));
    addModules(datapath.health(), state, conductor);
    datapath.health().add(ApiConnectionView.MODULE, connections);
    datapath.health().add(HostRoutingHealth.MODULE, new HostRoutingHealth(routing));
    restore(datapath, conductor);
    server.serve(
        routes.ready(
            new StartedParts(
                node.addressing(),
                routing,
                ipam,
                datapath,
                conductor.endpoints(),
                conductor.policy()),
            identities,
            cidrIdentities));
  }

  /** Takes over what can change while the agent runs; the log is not among it. */
  void apply(Settings changed) {
    server.limit(changed.rateLimits());
    policy.trace(changed.tracesPolicy());
    load.enable(changed.logsSystemLoad());
  }

  private void serveMetrics(DaemonRoutes routes) {
    try {
      settings.metricsAddress().ifPresent(at -> keep(MetricsServer.start(at, routes.metrics())));
    } catch (IllegalArgumentException failure) {
      throw new OptionException("--" + failure.getMessage());
    }
  }

  /** Creates the conductor of the endpoints; its thread does not run yet. */
  private EndpointConductor endpoints(
      AgentState state,
      Node node,
      DatapathManager datapath,
      IdentityAllocator identities,
      Ipam ipam,
      PolicyEngine policy) {
    return EndpointConductor.launch(
        new EndpointContext()
            .node(node)
            .nodeDevices(settings.nodeDevices())
            .guarded(node.guardedDevices(), datapath.devices())
            .identities(identities)
            .ipam(ipam)
            .policy(policy)
            .datapath(datapath.endpoints(), datapath.policyMaps(), datapath.ipcache())
            .store(state.endpointStore())
            .repairs(datapath.repairs())
            .faults(datapath.endpointFaults())
            .labelFilter(settings.labelFilter())
            .defaultOptions(settings.endpointOptions())
            .clusterName(settings.clusterName())
            .nodeName(settings.nodeName())
            .conclude());
  }

  private static void addModules(
      HealthBoard health, AgentState state, EndpointConductor conductor) {
    health.add("state", state.faults());
    health.add(EndpointModuleHealth.MODULE, new EndpointModuleHealth(conductor.endpoints()));
    health.add("node", conductor.nodeFaults());
    health.add(RESTORE_MODULE, conductor.restoreProgress());
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
  private static void checkDescriptorLimit() {
    final long limit = ProcessAttributes.descriptorLimit();
    if (limit < LEAST_DESCRIPTORS) {
      throw new OperationException(
          "the limit of open files is %d, and the agent needs %d (ulimit -n, LimitNOFILE=)"
              .formatted(limit, LEAST_DESCRIPTORS));
    }
  }

  /** Lets the group of the socket enter the state directory where the socket is in it. */
  private void openToSocketGroup(Path state) throws IOException {
    if (state.equals(settings.socketPath().getParent())) {
      Files.setPosixFilePermissions(state, PosixFilePermissions.fromString("rwxr-xr-x"));
    }
  }

  /** Has the thread that stores the policy try every second again what could not be stored. */
  private static void retryWrites(ConductorAgent agent, AgentState state) {
    agent.schedule(
        STATE_RETRY_NS,
        () -> {
          state.retry();
          retryWrites(agent, state);
        });
  }

  /** Has a thread in the namespace of the node read regularly what decides how flows are routed. */
  private static void follow(
      ConductorAgent agent, HostRoutingWatch routing, DatapathManager datapath) {
    agent.schedule(
        ROUTING_POLL_NS,
        () -> {
          routing.poll(datapath::bypassStack);
          follow(agent, routing, datapath);
        });
  }

  /** Logs the load of the node every minute, while the option asks for it. */
  private void logLoad(ConductorAgent agent) {
    agent.schedule(
        LOAD_NS,
        () -> {
          load.log();
          logLoad(agent);
        });
  }

  /**
   * Starts the restoration, which goes on while the API is served; returns when the endpoints of
   * the previous run are known. It has no deadline: their programs and maps are pinned and enforce.
   */
  private static void restore(DatapathManager datapath, EndpointConductor conductor)
      throws InterruptedException {
    conductor
        .restore()
        .whenComplete(
            (report, failure) -> {
              if (failure == null) {
                datapath.endpointsRestored();
                report(report);
              } else {
                LOGGER.error("restore: {}", failure.getMessage(), failure);
              }
            });
    try {
      conductor.loaded().get();
    } catch (ExecutionException e) {
      throw new OperationException("restore: " + e.getCause().getMessage(), e.getCause());
    }
  }

  /** Logs the numbers of the endpoints; the errors are logged where they occur. */
  private static void report(RestoreReport report) {
    if (!report.restored().isEmpty()) {
      LOGGER.info("restored endpoints {}", report.restored());
    }
    if (!report.removed().isEmpty()) {
      LOGGER.warn("removed endpoints {}: their interfaces do not exist", report.removed());
    }
    if (!report.failed().isEmpty()) {
      LOGGER.warn(
          "endpoints {} keep their previous programs: the restore failed and is retried",
          report.failed());
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
