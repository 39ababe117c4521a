package agent.contract.daemon;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;
import java.util.Map;

/**
 * Status of the daemon.
 *
 * @param agent the agent itself
 * @param agentVersion version of the agent
 * @param attachMode how programs are attached: tcx or tc
 * @param authCertificateProvider certificate provider
 * @param bandwidthManager bandwidth manager
 * @param bpfMaps BPF maps
 * @param clientId client id for GET /cluster/nodes
 * @param clockSource datapath clock
 * @param cluster cluster
 * @param clusterMesh cluster mesh
 * @param cniChaining CNI chaining
 * @param cniFile CNI configuration file
 * @param containerRuntime container runtime
 * @param controllers controllers of the daemon
 * @param encryption encryption
 * @param flowobs flow observer
 * @param hostFirewall host firewall
 * @param hostRouting datapath routing
 * @param identityRange numbers of identities
 * @param ipam address management
 * @param ipv4BigTcp BIG TCP for IPv4
 * @param ipv6BigTcp BIG TCP for IPv6
 * @param kernel kernel of the node
 * @param kvstore key-value store
 * @param masquerading masquerading
 * @param nodeMonitor node monitor
 * @param orch orchestrator
 * @param orchProxyReplacement replacement of the orchestrator proxy
 * @param proxy L7 proxy
 * @param routing routing
 * @param srv6 SRv6
 * @param stale parts of the status that are stale, with the time since when
 */
public record DaemonStatusModel(
    @JsonProperty("agent") ComponentStatus agent,
    @JsonProperty("agent-version") String agentVersion,
    @JsonProperty("attach-mode") String attachMode,
    @JsonProperty("auth-certificate-provider") ComponentStatus authCertificateProvider,
    @JsonProperty("bandwidth-manager") BandwidthManager bandwidthManager,
    @JsonProperty("bpf-maps") BpfMaps bpfMaps,
    @JsonProperty("client-id") Long clientId,
    @JsonProperty("clock-source") ClockSource clockSource,
    @JsonProperty("cluster") Object cluster,
    @JsonProperty("cluster-mesh") Object clusterMesh,
    @JsonProperty("cni-chaining") Object cniChaining,
    @JsonProperty("cni-file") ComponentStatus cniFile,
    @JsonProperty("container-runtime") ComponentStatus containerRuntime,
    @JsonProperty("controllers") List<ControllerModel> controllers,
    @JsonProperty("encryption") Object encryption,
    @JsonProperty("flowobs") FlowObserver flowobs,
    @JsonProperty("host-firewall") HostFirewall hostFirewall,
    @JsonProperty("host-routing") Mode hostRouting,
    @JsonProperty("identity-range") Object identityRange,
    @JsonProperty("ipam") Object ipam,
    @JsonProperty("ipv4-big-tcp") BigTcp ipv4BigTcp,
    @JsonProperty("ipv6-big-tcp") BigTcp ipv6BigTcp,
    @JsonProperty("kernel") Kernel kernel,
    @JsonProperty("kvstore") ComponentStatus kvstore,
    @JsonProperty("masquerading") Masquerading masquerading,
    @JsonProperty("nodeMonitor") Object nodeMonitor,
    @JsonProperty("orch") Orchestrator orch,
    @JsonProperty("orch-proxy-replacement") ProxyReplacementModel orchProxyReplacement,
    @JsonProperty("proxy") Proxy proxy,
    @JsonProperty("routing") Routing routing,
    @JsonProperty("srv6") Srv6 srv6,
    @JsonProperty("stale") Map<String, String> stale) {

  /**
   * State of a component: Ok, Warning, Failure or Disabled.
   *
   * @param msg message
   * @param state state
   */
  public record ComponentStatus(
      @JsonProperty("msg") String msg, @JsonProperty("state") String state) {}

  /**
   * Kernel of the node.
   *
   * @param missing features that it lacks
   * @param release release
   */
  public record Kernel(
      @JsonProperty("missing") List<String> missing, @JsonProperty("release") String release) {}

  /**
   * Bandwidth manager.
   *
   * @param congestionControl algorithm
   * @param devices devices
   * @param enabled enabled
   */
  public record BandwidthManager(
      @JsonProperty("congestionControl") String congestionControl,
      @JsonProperty("devices") List<String> devices,
      @JsonProperty("enabled") Boolean enabled) {}

  /**
   * BPF maps with their sizes.
   *
   * @param dynamicSizeRatio share of memory for dynamic sizing
   * @param maps maps
   */
  public record BpfMaps(
      @JsonProperty("dynamic-size-ratio") Double dynamicSizeRatio,
      @JsonProperty("maps") List<MapSize> maps) {}

  /**
   * Size of a BPF map.
   *
   * @param name name
   * @param size most entries
   */
  public record MapSize(@JsonProperty("name") String name, @JsonProperty("size") Long size) {}

  /**
   * Datapath clock.
   *
   * @param hertz kernel Hz
   * @param mode clock
   */
  public record ClockSource(@JsonProperty("hertz") Long hertz, @JsonProperty("mode") String mode) {}

  /**
   * Flow observer.
   *
   * @param metrics its metrics
   * @param msg message
   * @param observer its ring
   * @param state state
   */
  public record FlowObserver(
      @JsonProperty("metrics") Metrics metrics,
      @JsonProperty("msg") String msg,
      @JsonProperty("observer") Observer observer,
      @JsonProperty("state") String state) {}

  /**
   * State of the metrics of the flow observer.
   *
   * @param state state
   */
  public record Metrics(@JsonProperty("state") String state) {}

  /**
   * Ring of the flow observer.
   *
   * @param currentFlows flows stored
   * @param maxFlows most flows
   * @param seenFlows flows seen
   * @param uptime uptime
   */
  public record Observer(
      @JsonProperty("current-flows") Long currentFlows,
      @JsonProperty("max-flows") Long maxFlows,
      @JsonProperty("seen-flows") Long seenFlows,
      @JsonProperty("uptime") String uptime) {}

  /**
   * Host firewall.
   *
   * @param devices devices
   * @param mode mode
   */
  public record HostFirewall(
      @JsonProperty("devices") List<String> devices, @JsonProperty("mode") String mode) {}

  /**
   * A mode.
   *
   * @param mode mode
   * @param reason why it was chosen
   */
  public record Mode(@JsonProperty("mode") String mode, @JsonProperty("reason") String reason) {}

  /**
   * BIG TCP.
   *
   * @param enabled enabled
   * @param maxGRO most bytes of GRO
   * @param maxGSO most bytes of GSO
   */
  public record BigTcp(
      @JsonProperty("enabled") Boolean enabled,
      @JsonProperty("maxGRO") Integer maxGRO,
      @JsonProperty("maxGSO") Integer maxGSO) {}

  /**
   * Masquerading.
   *
   * @param enabled enabled
   * @param enabledProtocols enabled a family
   * @param ipMasqAgent BPF masquerade agent
   * @param mode mode
   * @param snatExclusionCidr obsolete
   * @param snatExclusionCidrV4 CIDR without SNAT
   * @param snatExclusionCidrV6 CIDR without SNAT
   */
  public record Masquerading(
      @JsonProperty("enabled") Boolean enabled,
      @JsonProperty("enabledProtocols") DaemonConfigurationModel.Protocols enabledProtocols,
      @JsonProperty("ip-masq-agent") Boolean ipMasqAgent,
      @JsonProperty("mode") String mode,
      @JsonProperty("snat-exclusion-cidr") String snatExclusionCidr,
      @JsonProperty("snat-exclusion-cidr-v4") String snatExclusionCidrV4,
      @JsonProperty("snat-exclusion-cidr-v6") String snatExclusionCidrV6) {}

  /**
   * Orchestrator.
   *
   * @param apiVersions API versions
   * @param msg message
   * @param state state
   */
  public record Orchestrator(
      @JsonProperty("api-versions") List<String> apiVersions,
      @JsonProperty("msg") String msg,
      @JsonProperty("state") String state) {}

  /**
   * L7 proxy.
   *
   * @param engineDeploymentMode deployment mode
   * @param ip address
   * @param portRange ports
   * @param redirects redirects
   * @param totalPorts listening ports
   * @param totalRedirects redirects
   */
  public record Proxy(
      @JsonProperty("engine-deployment-mode") String engineDeploymentMode,
      @JsonProperty("ip") String ip,
      @JsonProperty("port-range") String portRange,
      @JsonProperty("redirects") List<Redirect> redirects,
      @JsonProperty("total-ports") Long totalPorts,
      @JsonProperty("total-redirects") Long totalRedirects) {}

  /**
   * A proxy redirect.
   *
   * @param name name
   * @param proxy proxy
   * @param proxyPort port
   */
  public record Redirect(
      @JsonProperty("name") String name,
      @JsonProperty("proxy") String proxy,
      @JsonProperty("proxy-port") Integer proxyPort) {}

  /**
   * Routing modes.
   *
   * @param interHostRoutingMode across hosts
   * @param intraHostRoutingMode within a host
   * @param tunnelProtocol tunnel
   */
  public record Routing(
      @JsonProperty("inter-host-routing-mode") String interHostRoutingMode,
      @JsonProperty("intra-host-routing-mode") String intraHostRoutingMode,
      @JsonProperty("tunnel-protocol") String tunnelProtocol) {}

  /**
   * SRv6.
   *
   * @param enabled enabled
   * @param srv6EncapMode encapsulation
   */
  public record Srv6(
      @JsonProperty("enabled") Boolean enabled,
      @JsonProperty("srv6EncapMode") String srv6EncapMode) {}
}
