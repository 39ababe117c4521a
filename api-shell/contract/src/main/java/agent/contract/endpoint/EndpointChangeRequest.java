package agent.contract.endpoint;

import agent.contract.ipam.AddressPairModel;
import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * Body of PUT and PATCH /endpoint/{id}.
 *
 * @param addressing addresses
 * @param containerId container id
 * @param containerInterfaceName device name in the network namespace of the workload
 * @param containerName container name
 * @param datapathConfiguration datapath switches
 * @param datapathMapId id of the tail call map
 * @param disableLegacyIdentifiers no lookup by container name, container id or pod name
 * @param hostMac MAC of the host side
 * @param id local endpoint id
 * @param interfaceIndex device index of the host side
 * @param interfaceName device name of the host side
 * @param k8sNamespace orchestrator namespace
 * @param k8sPodName orchestrator pod name
 * @param k8sUid orchestrator pod UID
 * @param labels labels
 * @param mac MAC of the workload
 * @param namedPorts named ports; in a change they replace all
 * @param netnsCookie network namespace cookie
 * @param pid process id of the workload
 * @param policyEnabled whether policy is enforced
 * @param properties kept with the endpoint
 * @param runtimeEndpointId runtime endpoint id
 * @param runtimeNetworkId runtime network id
 * @param state state asked for
 * @param syncBuildEndpoint answer when the endpoint is enforced
 */
public record EndpointChangeRequest(
    @JsonProperty("addressing") AddressPairModel addressing,
    @JsonProperty("container-id") String containerId,
    @JsonProperty("container-interface-name") String containerInterfaceName,
    @JsonProperty("container-name") String containerName,
    @JsonProperty("datapath-configuration") DatapathConfiguration datapathConfiguration,
    @JsonProperty("datapath-map-id") Integer datapathMapId,
    @JsonProperty("disable-legacy-identifiers") Boolean disableLegacyIdentifiers,
    @JsonProperty("host-mac") String hostMac,
    @JsonProperty("id") Integer id,
    @JsonProperty("interface-index") Integer interfaceIndex,
    @JsonProperty("interface-name") String interfaceName,
    @JsonProperty("k8s-namespace") String k8sNamespace,
    @JsonProperty("k8s-pod-name") String k8sPodName,
    @JsonProperty("k8s-uid") String k8sUid,
    @JsonProperty("labels") List<String> labels,
    @JsonProperty("mac") String mac,
    @JsonProperty("named-ports") List<NamedPortRequest> namedPorts,
    @JsonProperty("netns-cookie") String netnsCookie,
    @JsonProperty("pid") Integer pid,
    @JsonProperty("policy-enabled") Boolean policyEnabled,
    @JsonProperty("properties") Object properties,
    @JsonProperty("runtime-endpoint-id") String runtimeEndpointId,
    @JsonProperty("runtime-network-id") String runtimeNetworkId,
    @JsonProperty(value = "state", required = true) String state,
    @JsonProperty("sync-build-endpoint") Boolean syncBuildEndpoint) {

  /**
   * A named port of a workload.
   *
   * @param name service name
   * @param port number
   * @param protocol layer 4 protocol, TCP where it is left out
   */
  public record NamedPortRequest(
      @JsonProperty(value = "name", required = true) String name,
      @JsonProperty(value = "port", required = true) Integer port,
      @JsonProperty("protocol") String protocol) {}

  /**
   * Datapath switches of an endpoint.
   *
   * @param disableSipVerification do not verify source addresses
   * @param externalIpam addresses are managed elsewhere
   * @param installEndpointRoute install a route to the interface
   * @param requireArpPassthrough pass ARP to the workload
   * @param requireEgressProg a program toward the host is needed
   * @param requireRouting BPF routing is required
   */
  public record DatapathConfiguration(
      @JsonProperty("disable-sip-verification") Boolean disableSipVerification,
      @JsonProperty("external-ipam") Boolean externalIpam,
      @JsonProperty("install-endpoint-route") Boolean installEndpointRoute,
      @JsonProperty("require-arp-passthrough") Boolean requireArpPassthrough,
      @JsonProperty("require-egress-prog") Boolean requireEgressProg,
      @JsonProperty("require-routing") Boolean requireRouting) {}
}
