package agent.contract.daemon;

import agent.contract.node.NodeAddressingModel;
import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.Map;

/**
 * Configuration of the daemon.
 *
 * @param spec configuration asked for
 * @param status configuration in force
 */
public record DaemonConfigurationModel(
    @JsonProperty("spec") Spec spec, @JsonProperty("status") Status status) {

  /**
   * Options and enforcement mode.
   *
   * @param options option name to value
   * @param policyEnforcement enforcement mode
   */
  public record Spec(
      @JsonProperty("options") Map<String, String> options,
      @JsonProperty("policy-enforcement") String policyEnforcement) {}

  /**
   * A switch a family.
   *
   * @param ipv4 IPv4
   * @param ipv6 IPv6
   */
  public record Protocols(@JsonProperty("ipv4") Boolean ipv4, @JsonProperty("ipv6") Boolean ipv6) {}

  /**
   * Configuration in force.
   *
   * @param groIPv4MaxSize most bytes of an IPv4 GRO packet
   * @param groMaxSize most bytes of an IPv6 GRO packet
   * @param gsoIPv4MaxSize most bytes of an IPv4 GSO packet
   * @param gsoMaxSize most bytes of an IPv6 GSO packet
   * @param addressing addresses of the node
   * @param daemonConfigurationMap start-up options with their values
   * @param datapathMode datapath mode
   * @param deviceMTU MTU on workload-facing devices
   * @param egressMultiHomeIpRuleCompat compatibility mode
   * @param immutable options that cannot be changed
   * @param ipLocalReservedPorts ports reserved in the network namespace of a workload
   * @param ipamMode IPAM mode
   * @param kvstoreConfiguration key-value store
   * @param masquerade masquerading
   * @param masqueradeProtocols masquerading a family
   * @param nodeMonitor node monitor
   * @param orchConfiguration orchestrator configuration
   * @param orchEndpoint orchestrator address
   * @param realized options in force
   * @param routeMTU MTU of network-facing routes
   */
  public record Status(
      @JsonProperty("GROIPv4MaxSize") Integer groIPv4MaxSize,
      @JsonProperty("GROMaxSize") Integer groMaxSize,
      @JsonProperty("GSOIPv4MaxSize") Integer gsoIPv4MaxSize,
      @JsonProperty("GSOMaxSize") Integer gsoMaxSize,
      @JsonProperty("addressing") NodeAddressingModel addressing,
      @JsonProperty("daemonConfigurationMap") Map<String, Object> daemonConfigurationMap,
      @JsonProperty("datapathMode") String datapathMode,
      @JsonProperty("deviceMTU") Integer deviceMTU,
      @JsonProperty("egress-multi-home-ip-rule-compat") Boolean egressMultiHomeIpRuleCompat,
      @JsonProperty("immutable") Map<String, String> immutable,
      @JsonProperty("ipLocalReservedPorts") String ipLocalReservedPorts,
      @JsonProperty("ipam-mode") String ipamMode,
      @JsonProperty("kvstoreConfiguration") Map<String, Object> kvstoreConfiguration,
      @JsonProperty("masquerade") Boolean masquerade,
      @JsonProperty("masqueradeProtocols") Protocols masqueradeProtocols,
      @JsonProperty("nodeMonitor") Map<String, Object> nodeMonitor,
      @JsonProperty("orch-configuration") String orchConfiguration,
      @JsonProperty("orch-endpoint") String orchEndpoint,
      @JsonProperty("realized") Spec realized,
      @JsonProperty("routeMTU") Integer routeMTU) {}
}
