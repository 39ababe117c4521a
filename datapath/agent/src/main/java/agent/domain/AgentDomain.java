package agent.domain;

import agent.conductor.HealthBoard;
import agent.conductor.Repairs;
import agent.datapath.manager.DatapathManager;
import agent.dns.HeldShares;
import agent.dns.Names;
import agent.dns.NamesContext;
import agent.dns.ResolverFile;
import agent.domain.node.HostRoutingHealth;
import agent.domain.node.NodeAddressHealth;
import agent.domain.node.NodeContexts;
import agent.domain.node.NodeMasquerading;
import agent.domain.proxy.NodeProxies;
import agent.domain.proxy.ProxiedPolicyMaps;
import agent.endpoint.DaemonConfiguration;
import agent.endpoint.EndpointConductor;
import agent.endpoint.EndpointContext;
import agent.endpoint.Endpoints;
import agent.endpoint.PolicyService;
import agent.endpoint.build.TranslationTrace;
import agent.endpoint.config.RuntimeConfiguration;
import agent.identity.CidrIdentityAllocator;
import agent.identity.IdentityAllocator;
import agent.identity.LocalCidrIdentityAllocator;
import agent.identity.LocalIdentityAllocator;
import agent.ipam.Ipam;
import agent.maps.layout.ServiceForwarding;
import agent.node.ClusterNode;
import agent.node.ClusterNodes;
import agent.node.HostRouting;
import agent.node.HostRoutingWatch;
import agent.node.Node;
import agent.node.NodeAddressing;
import agent.node.NodeInventory;
import agent.node.netfilter.MasqueradeGuard;
import agent.policy.PolicyEngine;
import agent.policy.request.RequestPolicies;
import agent.policy.resolve.EnforcementMode;
import agent.service.Services;
import agent.types.OperationException;
import agent.types.Refusal;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * The whole domain of one node: addresses, identities, policy, names, services, proxies and
 * endpoints on a datapath. Who drives it (an API, a test) reads its parts and changes things
 * through them. Its parts are there after {@link #start}; what they do goes on until {@link
 * #close}, which may come during the start.
 */
public final class AgentDomain implements AutoCloseable {
  private static final Logger LOGGER = LogManager.getLogger(AgentDomain.class);
  private static final Path RESOLVER_FILE = Path.of("/etc/resolv.conf");
  private static final Duration STATE_RETRY = Duration.ofSeconds(1);
  private static final Duration ROUTING_POLL = Duration.ofSeconds(2);
  private static final Duration RULES_POLL = Duration.ofSeconds(1);
  private static final Duration INVENTORY_POLL = Duration.ofSeconds(5);
  private static final long CONDUCTOR_STALL_NS = TimeUnit.SECONDS.toNanos(2);

  private final DomainContext context;
  private final Deque<AutoCloseable> started = new ArrayDeque<>();
  private final List<PeriodicController> controllers = new ArrayList<>();
  private final AtomicReference<NodeInventory> inventory = new AtomicReference<>();
  private final CidrIdentityAllocator cidrIdentities = new LocalCidrIdentityAllocator();
  private final IdentityAllocator identities;
  private Node node;
  private ClusterNodes nodes;
  private Ipam ipam;
  private Names names;
  private HostRoutingWatch routing;
  private NodeMasquerading masquerading;
  private DatapathManager datapath;
  private Services services;
  private volatile PolicyEngine engine; // names that are found ask for it
  private NodeProxies proxies;
  private EndpointConductor conductor;

  /**
   * Creates the domain without starting anything.
   *
   * @param context the configuration; this constructor concludes it
   */
  public AgentDomain(DomainContext context) {
    this.context = context.conclude();
    identities = new LocalIdentityAllocator(context.fixedIdentities());
  }

  /**
   * Starts all parts in the network namespace of the calling thread: node, domain, datapath, and
   * the endpoints of the previous run. Returns when the datapath is ready and those endpoints are
   * known; they are restored while requests are served. Called once; after a failure, too, the
   * domain is to be closed.
   *
   * @throws Refusal INVALID with an option's name where its value is not valid on this machine,
   *     UNAVAILABLE where the kernel lacks a feature
   * @throws OperationException where the node cannot be set up
   */
  public void start() throws InterruptedException {
    node = Node.open(context.node(), context.mtu(), context.state().nodeStore());
    final NodeContexts contexts = NodeContexts.of(node);
    ipam = Ipam.open(contexts.ipam(context.state().leaseStore(), context.state().store()::store));
    final RuntimeConfiguration restored =
        RuntimeConfiguration.restore(
            context.runtimeOptions(), context.state().configurationStore());
    routing = HostRoutingWatch.start(context.hostRouting());
    masquerading =
        NodeMasquerading.start(context.masquerade(), node.addressing(), routing::current);
    datapath = launchDatapath(contexts);
    names = openNames(contexts);
    services = restoreServices();
    engine = openPolicy(restored.wanted().enforcement());
    proxies = createProxies();
    conductor = EndpointConductor.launch(endpoints(restored));
    inventory.set(node.inventory());
    nodes = new ClusterNodes(this::presentNodes, System::nanoTime);
    startControllers();
    keep(datapath.threads().start(conductor.agent(), CONDUCTOR_STALL_NS));
    addModules(datapath.health());
    EndpointRestoration.begin(datapath, conductor);
    follow();
  }

  /** Opens the names; answers of servers are looked at when there is a policy. */
  private Names openNames(NodeContexts contexts) {
    final NamesContext configured =
        context
            .names()
            .store(context.state().nameStore())
            .threads(datapath.threads())
            .selected(name -> engine.selectsName(name));
    if (context.looksUpNames()) {
      configured.resolver(contexts.resolver(new ResolverFile(RESOLVER_FILE)));
    }
    return Names.open(configured.conclude());
  }

  private DatapathManager launchDatapath(NodeContexts contexts) {
    return keep(
        DatapathManager.launch(
            contexts.datapath(
                context.datapath(),
                context.masquerade(),
                context.balancer(),
                routing.current().bypassesStack(),
                context.state().prefilterStore()),
            context.flows()));
  }

  /** Restores the services, which rules select. */
  private Services restoreServices() {
    final boolean hasBalancer = datapath.status().balancerMode() != null;
    final Services restored =
        Services.restore(
            datapath.services(),
            context.state().serviceStore(),
            context.nodeName(),
            hasBalancer ? ServiceForwarding.DSR : ServiceForwarding.DEFAULT);
    restored.limit(context.mostBackends());
    restored.observe(context.serviceObserver());
    return restored;
  }

  private PolicyEngine openPolicy(EnforcementMode mode) {
    return PolicyEngine.open(
        context
            .policy()
            .identities(identities)
            .cidrIdentities(cidrIdentities)
            .store(context.state().policyStore())
            .storing(context.state().store()::store)
            .beside(CompletableFuture::runAsync)
            .mode(mode)
            .names(names.addresses())
            .services(services.namedBackends())
            .formerNumbers(FormerNumbers.read(datapath.ipcache()))
            .conclude());
  }

  /** Returns the proxies that policy may send flows to, none of which is started. */
  private NodeProxies createProxies() {
    final NodeProxies created =
        keep(
            new NodeProxies(
                datapath.redirects(),
                context
                    .proxies()
                    .create(datapath.redirects(), engine.requests(), names::found, identities)));
    datapath.health().add(NodeProxies.MODULE, created::health);
    return created;
  }

  /** Completes what options say of the endpoints by the parts that they use. */
  private EndpointContext endpoints(RuntimeConfiguration restored) {
    return context
        .endpoints()
        .node(node)
        .guarded(node.guardedDevices(), datapath.devices())
        .datapath(
            datapath.endpoints(),
            new ProxiedPolicyMaps(datapath.policyMaps(), proxies),
            datapath.ipcache())
        .store(context.state().endpointStore())
        .translationTrace(new TranslationTrace(datapath.events())::enable)
        .storing(context.state().store()::store)
        .observer(
            context
                .endpointObserver()
                .andThen(new RemovedEndpoints(names::endpointRemoved, proxies::endpointRemoved)))
        .policyObserver(context.policyObserver())
        .repairs(datapath.repairs())
        .faults(datapath.endpointFaults())
        .clusterName(context.clusterName())
        .nodeName(context.nodeName())
        .configuration(restored)
        .identities(identities)
        .ipam(ipam)
        .policy(engine);
  }

  private List<ClusterNode> presentNodes() {
    return List.of(
        ClusterNode.local(
            context.clusterName() + "/" + context.nodeName(),
            node.addressing(),
            inventory.get().addresses()));
  }

  /** Starts periodic tasks: those in the namespace of the node on the thread of the endpoints. */
  private void startControllers() {
    datapath
        .health()
        .add(
            NodeAddressHealth.MODULE,
            new NodeAddressHealth(node.addressing(), () -> inventory.get().addresses()));
    add("host-routing-watch", ROUTING_POLL, () -> routing.poll(datapath::bypassStack));
    add("node-inventory", INVENTORY_POLL, () -> inventory.set(node.inventory()));
    context.periodic().forEach(task -> add(task.name(), task.interval(), task.task()));
    controllers.forEach(controller -> controller.start(conductor.agent()));
    add("state-write-retry", STATE_RETRY, context.state()::retry).start(context.state().store());
    keep(datapath.threads().start(context.state().store(), CONDUCTOR_STALL_NS));
    // From here on no other thread writes the state; while the domain is being closed, none does.
    context.state().store().run(() -> {}).handle((done, closed) -> null).join();
    maintainMasquerading();
  }

  /** Starts the thread that waits for programs of the node. */
  private void maintainMasquerading() {
    final Repairs repairs = datapath.repairs();
    datapath.health().add(NodeMasquerading.MODULE, masquerading.health());
    masquerading.addRefusals(datapath.ports());
    final ScheduledExecutorService thread =
        keep(
            Executors.newSingleThreadScheduledExecutor(
                Thread.ofPlatform().name("node-rules").daemon().factory()));
    add("masquerade-rules", RULES_POLL, () -> masquerading.keep(repairs)).start(thread);
  }

  private PeriodicController add(String name, Duration interval, Runnable task) {
    final var controller = new PeriodicController(name, interval, InstantSource.system(), task);
    controllers.add(controller);
    return controller;
  }

  private void addModules(HealthBoard health) {
    health.add("state", context.state().faults());
    health.add(EndpointModuleHealth.MODULE, new EndpointModuleHealth(conductor.endpoints()));
    health.add("node", conductor.nodeFaults());
    health.add("restore", conductor.restoreProgress());
    health.add(HostRoutingHealth.MODULE, new HostRoutingHealth(routing::current));
    health.add(HeldShares.MODULE, names.heldShares());
  }

  /** Makes policy follow services and names; forgets lookups of removed endpoints. */
  private void follow() {
    final PolicyService policy = conductor.policy();
    services.follow(policy::services);
    names.start(policy::names, policy::wantedNames, context.lookupObserver());
    keep(names);
    datapath.watch(names.addressUse());
    names.keepEndpoints(RemovedEndpoints.present(conductor.endpoints()));
  }

  /** Stops the parts in reverse order; programs stay attached and enforce policy. */
  @Override
  public void close() {
    synchronized (started) {
      while (!started.isEmpty()) {
        final AutoCloseable part = started.pop();
        try {
          part.close();
        } catch (Exception e) {
          LOGGER.error("stopping {}: {}", part.getClass().getSimpleName(), e.toString(), e);
        }
      }
    }
  }

  private <T extends AutoCloseable> T keep(T part) {
    synchronized (started) {
      started.push(part);
    }
    return part;
  }

  /** Returns the addresses and address ranges of the node. */
  public NodeAddressing addressing() {
    return node.addressing();
  }

  /** Returns what the node has, as it was read some seconds ago at most. */
  public NodeInventory inventory() {
    return inventory.get();
  }

  /** Returns the nodes of the cluster. */
  public ClusterNodes nodes() {
    return nodes;
  }

  /** Returns how flows are routed now. */
  public HostRouting routing() {
    return routing.current();
  }

  /** Returns what masquerades now. */
  public MasqueradeGuard.Mode masquerading() {
    return masquerading.mode();
  }

  /** Returns the allocator of identities of endpoints. */
  public IdentityAllocator identities() {
    return identities;
  }

  /** Returns the allocator of identities of CIDRs. */
  public CidrIdentityAllocator cidrIdentities() {
    return cidrIdentities;
  }

  /** Returns the allocator of addresses. */
  public Ipam ipam() {
    return ipam;
  }

  /** Returns the datapath, whose board has the health of the whole domain. */
  public DatapathManager datapath() {
    return datapath;
  }

  /** Returns the endpoints. */
  public Endpoints endpoints() {
    return conductor.endpoints();
  }

  /** Returns the rules. */
  public PolicyService policy() {
    return conductor.policy();
  }

  /** Returns what rules say of requests. */
  public RequestPolicies requests() {
    return engine.requests();
  }

  /** Returns the services. */
  public Services services() {
    return services;
  }

  /** Returns the names of rules, and their addresses. */
  public Names names() {
    return names;
  }

  /** Returns the proxies that policy sends flows to. */
  public NodeProxies proxies() {
    return proxies;
  }

  /** Returns what can change at run time. */
  public DaemonConfiguration configuration() {
    return conductor.configuration();
  }

  /** Returns the periodic tasks. */
  public List<PeriodicController> controllers() {
    return List.copyOf(controllers);
  }
}
