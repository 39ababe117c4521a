package agent.endpoint;

import agent.datapath.manager.spec.DatapathProxy;
import agent.identity.IdentityAllocator;
import agent.identity.LabelFilter;
import agent.ipam.Ipam;
import agent.node.Devices;
import agent.node.Gateways;
import agent.node.LocalAddresses;
import agent.node.Node;
import agent.node.NodeAddressing;
import agent.node.WorkloadRoutes;
import agent.policy.PolicyEngine;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Objects;
import java.util.Set;

/** What {@link EndpointConductor} is made of; not changed after {@link #conclude()}. */
public final class EndpointContext {
  private DatapathProxy datapath;
  private PolicyEngine policy;
  private IdentityAllocator identities;
  private Ipam ipam;
  private NodeAddressing addressing;
  private Devices devices;
  private Set<String> nodeDevices = Set.of();
  private LocalAddresses localAddresses;
  private Gateways gateways = present -> List.of();
  private WorkloadRoutes routes;
  private EndpointStore store = EndpointStore.inMemory();
  private ConductorThread thread;
  private LabelFilter labelFilter = LabelFilter.defaults();
  private EndpointOptions defaultOptions = EndpointOptions.defaults();
  private String clusterName = "default";
  private String nodeName = "localhost";
  private InstantSource clock = InstantSource.system();
  private Duration datapathTimeout = Duration.ofSeconds(30);
  private Duration retryBase = Duration.ofSeconds(1);
  private Duration retryMax = Duration.ofMinutes(1);
  private Duration refreshInterval = Duration.ofSeconds(10);

  /** Where programs and kernel maps are written; required. */
  public EndpointContext datapath(DatapathProxy value) {
    datapath = value;
    return this;
  }

  /** The rules, opened on {@link #identities}; required. Changed by the conductor alone. */
  public EndpointContext policy(PolicyEngine value) {
    policy = value;
    return this;
  }

  /** Where identities come from; required. Changed by the conductor and the policy alone. */
  public EndpointContext identities(IdentityAllocator value) {
    identities = value;
    return this;
  }

  /** Where addresses come from; required. */
  public EndpointContext ipam(Ipam value) {
    ipam = value;
    return this;
  }

  /** Takes addressing, devices, local addresses and routes from the node. */
  public EndpointContext node(Node node) {
    return addressing(node.addressing())
        .devices(node.devices())
        .localAddresses(node.localAddresses())
        .gateways(node.gateways())
        .routes(node.routes());
  }

  /** The node's addresses and ranges; required. */
  public EndpointContext addressing(NodeAddressing value) {
    addressing = value;
    return this;
  }

  /** Where host sides are looked up; required. */
  public EndpointContext devices(Devices value) {
    devices = value;
    return this;
  }

  /** Names of devices that are the node's own and never a workload's. */
  public EndpointContext nodeDevices(Set<String> value) {
    nodeDevices = Set.copyOf(value);
    return this;
  }

  /** What the node is addressed by: the ipcache's host entries; required. */
  public EndpointContext localAddresses(LocalAddresses value) {
    localAddresses = value;
    return this;
  }

  /** What the node's gateways are kept by; nothing, unless told otherwise. */
  public EndpointContext gateways(Gateways value) {
    gateways = value;
    return this;
  }

  /** Where routes to workloads are added; required. */
  public EndpointContext routes(WorkloadRoutes value) {
    routes = value;
    return this;
  }

  /** Where endpoints are kept over restarts. */
  public EndpointContext store(EndpointStore value) {
    store = value;
    return this;
  }

  /** The thread of the conductor, which closes it; required. */
  public EndpointContext thread(ConductorThread value) {
    thread = value;
    return this;
  }

  /** Which labels count for identity: {@code --labels}. */
  public EndpointContext labelFilter(LabelFilter value) {
    labelFilter = value;
    return this;
  }

  /** The options of a new endpoint, as the daemon's options have them. */
  public EndpointContext defaultOptions(EndpointOptions value) {
    defaultOptions = value;
    return this;
  }

  /** {@code --cluster-name}, for {@code agent-global} identifiers. */
  public EndpointContext clusterName(String value) {
    clusterName = value;
    return this;
  }

  /** The node's name, for {@code agent-global} identifiers. */
  public EndpointContext nodeName(String value) {
    nodeName = value;
    return this;
  }

  /** Where the time comes from. */
  public EndpointContext clock(InstantSource value) {
    clock = value;
    return this;
  }

  /** How long one answer of the datapath may take; 30 seconds, unless told otherwise. */
  public EndpointContext datapathTimeout(Duration value) {
    datapathTimeout = value;
    return this;
  }

  /** The pause after the first failed build, doubled with each further one up to the largest. */
  public EndpointContext retry(Duration base, Duration max) {
    retryBase = base;
    retryMax = max;
    return this;
  }

  /** How often the node's addresses and devices are read; 10 seconds, unless told otherwise. */
  public EndpointContext refreshInterval(Duration value) {
    refreshInterval = value;
    return this;
  }

  /** Checks the whole. */
  public EndpointContext conclude() {
    Objects.requireNonNull(datapath, "datapath");
    Objects.requireNonNull(policy, "policy");
    Objects.requireNonNull(identities, "identities");
    Objects.requireNonNull(ipam, "ipam");
    Objects.requireNonNull(addressing, "addressing");
    Objects.requireNonNull(devices, "devices");
    Objects.requireNonNull(localAddresses, "localAddresses");
    Objects.requireNonNull(routes, "routes");
    Objects.requireNonNull(store, "store");
    Objects.requireNonNull(thread, "thread");
    positive("datapathTimeout", datapathTimeout);
    positive("retryBase", retryBase);
    positive("refreshInterval", refreshInterval);
    if (retryMax.compareTo(retryBase) < 0) {
      throw new IllegalArgumentException("the largest pause is shorter than the first");
    }
    return this;
  }

  private static void positive(String what, Duration value) {
    if (value.isNegative() || value.isZero()) {
      throw new IllegalArgumentException(what + ": " + value + " is not a time to wait");
    }
  }

  DatapathProxy datapath() {
    return datapath;
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

  LocalAddresses localAddresses() {
    return localAddresses;
  }

  Gateways gateways() {
    return gateways;
  }

  WorkloadRoutes routes() {
    return routes;
  }

  EndpointStore store() {
    return store;
  }

  ConductorThread thread() {
    return thread;
  }

  LabelFilter labelFilter() {
    return labelFilter;
  }

  EndpointOptions defaultOptions() {
    return defaultOptions;
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

  Duration datapathTimeout() {
    return datapathTimeout;
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
