package agent.endpoint;

import agent.conductor.Repairs;
import agent.datapath.spec.DeviceProxy;
import agent.datapath.spec.EndpointAttachmentProxy;
import agent.datapath.spec.EndpointFaults;
import agent.datapath.spec.IpcacheProxy;
import agent.datapath.spec.PolicyMapProxy;
import agent.endpoint.config.RuntimeConfiguration;
import agent.endpoint.config.RuntimeOptions;
import agent.endpoint.config.RuntimeOptionsStore;
import agent.endpoint.restore.StoredEndpoints;
import agent.endpoint.state.EndpointOptions;
import agent.endpoint.state.EndpointSnapshot;
import agent.endpoint.state.EndpointStore;
import agent.endpoint.watch.NodeWatch;
import agent.identity.IdentityAllocator;
import agent.identity.LabelFilter;
import agent.ipam.Ipam;
import agent.node.AddressProbes;
import agent.node.Devices;
import agent.node.Forwarding;
import agent.node.Gateways;
import agent.node.GuardedDevices;
import agent.node.LocalAddresses;
import agent.node.Node;
import agent.node.NodeAddressing;
import agent.node.NodeEvents;
import agent.node.WorkloadRoutes;
import agent.policy.PolicyEngine;
import agent.policy.repository.CommittedRules;
import agent.policy.resolve.EnforcementMode;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import org.agrona.concurrent.NanoClock;
import org.agrona.concurrent.SystemNanoClock;

/** The configuration of {@link EndpointConductor}; immutable after {@link #conclude()}. */
public final class EndpointContext {
  private boolean isConcluded;
  private EndpointAttachmentProxy endpoints;
  private PolicyMapProxy policyMaps;
  private IpcacheProxy ipcache;
  private PolicyEngine policy;
  private IdentityAllocator identities;
  private Ipam ipam;
  private NodeAddressing addressing;
  private Devices devices;
  private Set<String> nodeDevices = Set.of();
  private NodeWatch.Guarded guarded;
  private BiConsumer<Integer, Boolean> translationTrace = (endpoint, isEnabled) -> {};
  private LocalAddresses localAddresses;
  private Gateways gateways = present -> List.of();
  private WorkloadRoutes routes;
  private Forwarding forwarding = Forwarding.NONE;
  private Supplier<NodeEvents> events = () -> NodeEvents.NONE;
  private Supplier<AddressProbes> addressProbes;
  private EndpointFaults faults = EndpointFaults.NONE;
  private Repairs repairs = new Repairs();
  private EndpointStore store = EndpointStore.inMemory();
  private Function<Runnable, CompletableFuture<Void>> storing =
      write -> CompletableFuture.runAsync(write, Runnable::run);
  private Consumer<EndpointSnapshot> observer = snapshot -> {};
  private Consumer<Supplier<CommittedRules>> policyObserver = rules -> {};
  private NanoClock nanoClock = SystemNanoClock.INSTANCE;
  private LabelFilter labelFilter = LabelFilter.defaults();
  private RuntimeConfiguration configuration =
      RuntimeConfiguration.restore(
          new RuntimeOptions(EndpointOptions.defaults(), false, EnforcementMode.DEFAULT),
          RuntimeOptionsStore.inMemory());
  private boolean keepsOptions = true;
  private IntFunction<Optional<String>> obstacle = count -> Optional.empty();
  private String clusterName = "default";
  private String nodeName = "localhost";
  private InstantSource clock = InstantSource.system();
  private Duration retryBase = Duration.ofSeconds(1);
  private Duration retryMax = Duration.ofMinutes(1);
  private Duration refreshInterval = Duration.ofSeconds(5);

  /** Sets the proxies that write programs and kernel maps; required. */
  public EndpointContext datapath(
      EndpointAttachmentProxy endpointPrograms,
      PolicyMapProxy policyEntries,
      IpcacheProxy addresses) {
    endpoints = changing(endpointPrograms);
    policyMaps = policyEntries;
    ipcache = addresses;
    return this;
  }

  /**
   * Sets the policy engine, opened on {@link #identities}; required. Only the conductor changes it.
   */
  public EndpointContext policy(PolicyEngine value) {
    policy = changing(value);
    return this;
  }

  /**
   * Sets the allocator of identities; required. Only the conductor and the policy engine change it.
   */
  public EndpointContext identities(IdentityAllocator value) {
    identities = changing(value);
    return this;
  }

  /** Sets the allocator of addresses; required. */
  public EndpointContext ipam(Ipam value) {
    ipam = changing(value);
    return this;
  }

  /** Sets everything that the endpoints read, follow and change of the node. */
  public EndpointContext node(Node node) {
    return addressing(node.addressing())
        .devices(node.devices())
        .localAddresses(node.localAddresses())
        .gateways(node.gateways())
        .routes(node.routes())
        .forwarding(node.forwarding())
        .events(node::events)
        .addressProbes(node::addressProbes);
  }

  /** Sets the addresses and address ranges of the node; required. */
  public EndpointContext addressing(NodeAddressing value) {
    addressing = changing(value);
    return this;
  }

  /** Sets the lookup of network devices; required. */
  public EndpointContext devices(Devices value) {
    devices = changing(value);
    return this;
  }

  /** Sets the names of devices of the node; an endpoint on one of them is refused. */
  public EndpointContext nodeDevices(Set<String> value) {
    nodeDevices = Set.copyOf(changing(value));
    return this;
  }

  /**
   * Sets the devices by which packets of the network come in and what guards them; by default none
   * are guarded here.
   */
  public EndpointContext guarded(GuardedDevices present, DeviceProxy proxy) {
    guarded =
        changing(
            new NodeWatch.Guarded(
                present::present, present::facing, present::addresses, present::names, proxy));
    return this;
  }

  /**
   * Sets the source of the node's addresses, which become host entries of the ipcache; required.
   */
  public EndpointContext localAddresses(LocalAddresses value) {
    localAddresses = changing(value);
    return this;
  }

  /** Sets what restores the node's gateway addresses; by default nothing does. */
  public EndpointContext gateways(Gateways value) {
    gateways = changing(value);
    return this;
  }

  /** Sets what adds and removes routes to workloads; required. */
  public EndpointContext routes(WorkloadRoutes value) {
    routes = changing(value);
    return this;
  }

  /** Sets the parameters that are kept; by default none are. */
  public EndpointContext forwarding(Forwarding value) {
    forwarding = changing(value);
    return this;
  }

  /**
   * Sets what subscribes to the events of the conductor's namespace; by default there are none, and
   * changes are found by comparisons.
   */
  public EndpointContext events(Supplier<NodeEvents> value) {
    events = changing(value);
    return this;
  }

  /** Sets what logs the translations of an endpoint, or stops; by default nothing does. */
  public EndpointContext translationTrace(BiConsumer<Integer, Boolean> value) {
    translationTrace = changing(value);
    return this;
  }

  /**
   * Sets what opens the sockets by which workloads are asked for their addresses in the conductor's
   * namespace; by default they are not asked, and count as reachable.
   */
  public EndpointContext addressProbes(Supplier<AddressProbes> value) {
    addressProbes = changing(value);
    return this;
  }

  /** Sets the faults of kernel objects, which become part of the health of the endpoints. */
  public EndpointContext faults(EndpointFaults value) {
    faults = changing(value);
    return this;
  }

  /** Sets who receives each snapshot of an endpoint, on the thread of the endpoints. */
  public EndpointContext observer(Consumer<EndpointSnapshot> value) {
    observer = changing(value);
    return this;
  }

  /** Sets who hears of each commit of rules when it is in force. */
  public EndpointContext policyObserver(Consumer<Supplier<CommittedRules>> value) {
    policyObserver = changing(value);
    return this;
  }

  /** Sets the counters of what was repaired. */
  public EndpointContext repairs(Repairs value) {
    repairs = changing(value);
    return this;
  }

  /** Sets the store that keeps endpoints across restarts; by default they are kept in memory. */
  public EndpointContext store(EndpointStore value) {
    store = changing(value);
    return this;
  }

  /**
   * Sets what runs writes to the stores, so that the conductor does not wait for the disk: the
   * future completes when they are durable. By default the conductor's thread runs them.
   */
  public EndpointContext storing(Function<Runnable, CompletableFuture<Void>> value) {
    storing = changing(value);
    return this;
  }

  /** Sets the filter of identity-relevant labels ({@code --labels}). */
  public EndpointContext labelFilter(LabelFilter value) {
    labelFilter = changing(value);
    return this;
  }

  /** Sets the configuration that can change at run time, with the options of new endpoints. */
  public EndpointContext configuration(RuntimeConfiguration value) {
    configuration = changing(value);
    return this;
  }

  /** Sets whether endpoints of the previous run keep their options ({@code --keep-config}). */
  public EndpointContext keepsOptions(boolean value) {
    keepsOptions = changing(value);
    return this;
  }

  /** Sets what returns why there may not be so many endpoints; empty where there may. */
  public EndpointContext obstacle(IntFunction<Optional<String>> value) {
    obstacle = changing(value);
    return this;
  }

  /** Sets the cluster name of {@code agent-global} identifiers ({@code --cluster-name}). */
  public EndpointContext clusterName(String value) {
    clusterName = changing(value);
    return this;
  }

  /** Sets the node name of {@code agent-global} identifiers. */
  public EndpointContext nodeName(String value) {
    nodeName = changing(value);
    return this;
  }

  /** Sets the monotonic clock of scheduled work. */
  public EndpointContext nanoClock(NanoClock value) {
    nanoClock = changing(value);
    return this;
  }

  /** Sets the clock of timestamps. */
  public EndpointContext clock(InstantSource value) {
    clock = changing(value);
    return this;
  }

  /**
   * Sets the pause after the first failed build and the longest pause; each further failure doubles
   * the pause.
   */
  public EndpointContext retry(Duration base, Duration max) {
    retryBase = changing(base);
    retryMax = max;
    return this;
  }

  /** Sets the interval at which everything is compared with the kernel; 5 seconds by default. */
  public EndpointContext refreshInterval(Duration value) {
    refreshInterval = changing(value);
    return this;
  }

  /**
   * Checks the configuration and makes it immutable.
   *
   * @throws NullPointerException naming a required value that is missing
   * @throws IllegalArgumentException where a duration is out of range
   */
  public EndpointContext conclude() {
    Objects.requireNonNull(endpoints, "endpoints");
    Objects.requireNonNull(policyMaps, "policyMaps");
    Objects.requireNonNull(ipcache, "ipcache");
    Objects.requireNonNull(policy, "policy");
    Objects.requireNonNull(identities, "identities");
    Objects.requireNonNull(ipam, "ipam");
    Objects.requireNonNull(addressing, "addressing");
    Objects.requireNonNull(devices, "devices");
    Objects.requireNonNull(localAddresses, "localAddresses");
    Objects.requireNonNull(routes, "routes");
    Objects.requireNonNull(store, "store");
    positive("retryBase", retryBase);
    positive("refreshInterval", refreshInterval);
    if (retryMax.compareTo(retryBase) < 0) {
      throw new IllegalArgumentException("the longest retry pause is shorter than the first");
    }
    isConcluded = true;
    return this;
  }

  private <T> T changing(T value) {
    if (isConcluded) {
      throw new IllegalStateException("the context is concluded");
    }
    return value;
  }

  private static void positive(String what, Duration value) {
    if (value.isNegative() || value.isZero()) {
      throw new IllegalArgumentException(what + ": " + value + " is not a positive duration");
    }
  }

  EndpointAttachmentProxy endpoints() {
    return endpoints;
  }

  PolicyMapProxy policyMaps() {
    return policyMaps;
  }

  IpcacheProxy ipcache() {
    return ipcache;
  }

  BiConsumer<Integer, Boolean> translationTrace() {
    return translationTrace;
  }

  PolicyEngine policy() {
    return policy;
  }

  IdentityAllocator identities() {
    return identities;
  }

  Ipam ipam() {
    return ipam;
  }

  NodeAddressing addressing() {
    return addressing;
  }

  Devices devices() {
    return devices;
  }

  Set<String> nodeDevices() {
    return nodeDevices;
  }

  NodeWatch.NodeSources nodeSources() {
    return new NodeWatch.NodeSources(
        localAddresses,
        gateways,
        devices,
        nodeDevices,
        guarded,
        forwarding,
        routes,
        events,
        addressProbes);
  }

  boolean watchesAddresses() {
    return addressProbes != null;
  }

  EndpointFaults faults() {
    return faults;
  }

  Consumer<EndpointSnapshot> observer() {
    return observer;
  }

  Consumer<Supplier<CommittedRules>> policyObserver() {
    return policyObserver;
  }

  Repairs repairs() {
    return repairs;
  }

  LocalAddresses localAddresses() {
    return localAddresses;
  }

  WorkloadRoutes routes() {
    return routes;
  }

  EndpointStore store() {
    return store;
  }

  Function<Runnable, CompletableFuture<Void>> storing() {
    return storing;
  }

  NanoClock nanoClock() {
    return nanoClock;
  }

  IntFunction<Optional<String>> obstacle() {
    return obstacle;
  }

  LabelFilter labelFilter() {
    return labelFilter;
  }

  RuntimeConfiguration configuration() {
    return configuration;
  }

  StoredEndpoints.Defaults restoredDefaults() {
    return new StoredEndpoints.Defaults(
        labelFilter,
        configuration.wanted().endpoint(),
        configuration.beingSet(),
        keepsOptions,
        configuration.isUnreadable());
  }

  String clusterName() {
    return clusterName;
  }

  String nodeName() {
    return nodeName;
  }

  InstantSource clock() {
    return clock;
  }

  Duration retryBase() {
    return retryBase;
  }

  Duration retryMax() {
    return retryMax;
  }

  Duration refreshInterval() {
    return refreshInterval;
  }
}
