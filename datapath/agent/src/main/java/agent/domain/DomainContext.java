package agent.domain;

import agent.datapath.spec.DatapathContext;
import agent.datapath.spec.FlowRing;
import agent.dns.Names;
import agent.dns.NamesContext;
import agent.domain.node.MasqueradeOptions;
import agent.domain.proxy.ProxyHost;
import agent.endpoint.EndpointContext;
import agent.endpoint.config.RuntimeOptions;
import agent.endpoint.state.EndpointOptions;
import agent.endpoint.state.EndpointSnapshot;
import agent.identity.FixedIdentities;
import agent.node.HostRouting;
import agent.node.NodeOptions;
import agent.policy.PolicyContext;
import agent.policy.repository.CommittedRules;
import agent.policy.resolve.EnforcementMode;
import agent.service.Services;
import agent.state.AgentState;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * The configuration of {@link AgentDomain}; immutable after {@link #conclude()}. Contexts of parts
 * that it has are those that options have filled: the domain completes and concludes them.
 */
public final class DomainContext {
  private boolean isConcluded;
  private AgentState state;
  private NodeOptions node = NodeOptions.DEFAULTS;
  private int mtu;
  private String clusterName = "default";
  private String nodeName = "localhost";
  private HostRouting.Choice hostRouting = HostRouting.Choice.AUTO;
  private MasqueradeOptions masquerade = MasqueradeOptions.OFF;
  private String balancer;
  private FixedIdentities fixedIdentities = FixedIdentities.NONE;
  private RuntimeOptions runtimeOptions =
      new RuntimeOptions(EndpointOptions.defaults(), false, EnforcementMode.DEFAULT);
  private DatapathContext datapath;
  private FlowRing flows = new FlowRing(FlowRing.CAPACITY.standard(), Set.of(), System::nanoTime);
  private PolicyContext policy = new PolicyContext();
  private NamesContext names = new NamesContext();
  private boolean looksUpNames;
  private int mostBackends = Integer.MAX_VALUE;
  private EndpointContext endpoints = new EndpointContext();
  private ProxyHost.Factory proxies;
  private Consumer<EndpointSnapshot> endpointObserver = snapshot -> {};
  private Consumer<Supplier<CommittedRules>> policyObserver = rules -> {};
  private Services.Observer serviceObserver = (id, before, after) -> {};
  private Names.Observer lookupObserver = (name, answer) -> {};
  private final List<Periodic> periodic = new ArrayList<>();

  /** A task that runs at an interval on the thread of the endpoints, and waits for nothing. */
  record Periodic(String name, Duration interval, Runnable task) {}

  /** Sets the stores of what must outlive the process; required. */
  public DomainContext state(AgentState value) {
    state = changing(value);
    return this;
  }

  /**
   * Sets the options of the node.
   *
   * @param linkMtu {@code --mtu}, or 0
   */
  public DomainContext node(NodeOptions value, int linkMtu) {
    node = changing(value);
    mtu = linkMtu;
    return this;
  }

  /** Sets {@code --cluster-name}, and the name of this node in it. */
  public DomainContext name(String cluster, String self) {
    clusterName = changing(cluster);
    nodeName = self;
    return this;
  }

  /** Sets {@code --host-routing}. */
  public DomainContext hostRouting(HostRouting.Choice value) {
    hostRouting = changing(value);
    return this;
  }

  /** Sets the options of masquerading; it is off where they are not set. */
  public DomainContext masquerade(MasqueradeOptions value) {
    masquerade = changing(value);
    return this;
  }

  /** Sets {@code --lb}, the device that balances services; null: none does. */
  public DomainContext balancer(String value) {
    balancer = changing(value);
    return this;
  }

  /** Sets {@code --fixed-identity-mapping}. */
  public DomainContext fixedIdentities(FixedIdentities value) {
    fixedIdentities = changing(value);
    return this;
  }

  /** Sets the start-up values of what can change at run time. */
  public DomainContext runtimeOptions(RuntimeOptions value) {
    runtimeOptions = changing(value);
    return this;
  }

  /** Sets the context of the datapath, without what the node decides; required. */
  public DomainContext datapath(DatapathContext value) {
    datapath = changing(value);
    return this;
  }

  /** Sets where the last events are kept. */
  public DomainContext flows(FlowRing value) {
    flows = changing(value);
    return this;
  }

  /** Sets the limits of policy, and when the node may send to its endpoints. */
  public DomainContext policy(PolicyContext value) {
    policy = changing(value);
    return this;
  }

  /**
   * Sets the limits of names, and what is known of them from the start.
   *
   * @param looksThemUp whether the servers of this node are asked for the names of rules
   */
  public DomainContext names(NamesContext value, boolean looksThemUp) {
    names = changing(value);
    looksUpNames = looksThemUp;
    return this;
  }

  /** Sets {@code --max-service-backends}. */
  public DomainContext mostBackends(int value) {
    mostBackends = changing(value);
    return this;
  }

  /** Sets the context of the endpoints, without the parts of the domain. */
  public DomainContext endpoints(EndpointContext value) {
    endpoints = changing(value);
    return this;
  }

  /** Sets where the proxies run that policy sends flows to; required. */
  public DomainContext proxies(ProxyHost.Factory value) {
    proxies = changing(value);
    return this;
  }

  /** Sets who receives each snapshot of an endpoint, on the thread of the endpoints. */
  public DomainContext endpointObserver(Consumer<EndpointSnapshot> value) {
    endpointObserver = changing(value);
    return this;
  }

  /** Sets who hears of each commit of rules when it is in force. */
  public DomainContext policyObserver(Consumer<Supplier<CommittedRules>> value) {
    policyObserver = changing(value);
    return this;
  }

  /** Sets who hears of each change of a service when it is in force. */
  public DomainContext serviceObserver(Services.Observer value) {
    serviceObserver = changing(value);
    return this;
  }

  /** Sets who hears of the answers to lookups of the agent. */
  public DomainContext lookupObserver(Names.Observer value) {
    lookupObserver = changing(value);
    return this;
  }

  /**
   * Adds a task that runs at an interval on the thread of the endpoints.
   *
   * @param task waits for nothing
   */
  public DomainContext periodic(String name, Duration interval, Runnable task) {
    periodic.add(changing(new Periodic(name, interval, task)));
    return this;
  }

  /**
   * Checks what was set, and makes the context immutable.
   *
   * @return this
   * @throws NullPointerException naming a required value that is missing
   */
  public DomainContext conclude() {
    Objects.requireNonNull(state, "state");
    Objects.requireNonNull(datapath, "datapath");
    Objects.requireNonNull(proxies, "proxies");
    isConcluded = true;
    return this;
  }

  private <T> T changing(T value) {
    if (isConcluded) {
      throw new IllegalStateException("the context is concluded");
    }
    return value;
  }

  AgentState state() {
    return state;
  }

  NodeOptions node() {
    return node;
  }

  int mtu() {
    return mtu;
  }

  String clusterName() {
    return clusterName;
  }

  String nodeName() {
    return nodeName;
  }

  HostRouting.Choice hostRouting() {
    return hostRouting;
  }

  MasqueradeOptions masquerade() {
    return masquerade;
  }

  String balancer() {
    return balancer;
  }

  FixedIdentities fixedIdentities() {
    return fixedIdentities;
  }

  RuntimeOptions runtimeOptions() {
    return runtimeOptions;
  }

  DatapathContext datapath() {
    return datapath;
  }

  FlowRing flows() {
    return flows;
  }

  PolicyContext policy() {
    return policy;
  }

  NamesContext names() {
    return names;
  }

  boolean looksUpNames() {
    return looksUpNames;
  }

  int mostBackends() {
    return mostBackends;
  }

  EndpointContext endpoints() {
    return endpoints;
  }

  ProxyHost.Factory proxies() {
    return proxies;
  }

  Consumer<EndpointSnapshot> endpointObserver() {
    return endpointObserver;
  }

  Consumer<Supplier<CommittedRules>> policyObserver() {
    return policyObserver;
  }

  Services.Observer serviceObserver() {
    return serviceObserver;
  }

  Names.Observer lookupObserver() {
    return lookupObserver;
  }

  List<Periodic> periodic() {
    return periodic;
  }
}
