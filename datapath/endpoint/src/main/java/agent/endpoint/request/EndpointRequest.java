package agent.endpoint.request;

import agent.endpoint.state.DatapathConfiguration;
import java.util.List;

/**
 * A create or modify request of the contract as received. The domain checks every value and names
 * the field that it refuses. Null means absent.
 *
 * @param state required: {@code waiting-for-identity}, {@code ready}, {@code creating} or empty;
 *     the agent decides the actual state
 * @param addressing its addresses; if it names none, one of each enabled family is allocated
 * @param containerId the runtime's id
 * @param containerInterfaceName the device in the workload's namespace
 * @param containerName the runtime's name
 * @param datapathConfiguration its datapath options
 * @param datapathMapId stored; this datapath does not use it
 * @param disableLegacyIdentifiers no lookup by container id, container name and pod name
 * @param runtimeEndpointId the runtime's endpoint id
 * @param runtimeNetworkId the runtime's network id
 * @param hostMac the host side's hardware address; read from the device where absent
 * @param mac the workload's hardware address; read from the other end of the veth where absent
 * @param id the local id; 0 or absent lets the agent allocate one
 * @param interfaceIndex the host side's index; must be that of the name where both are given
 * @param interfaceName the host side's name
 * @param namespace the orchestrator's namespace
 * @param podName the orchestrator's name
 * @param podUid the orchestrator's id
 * @param labels labels of the workload
 * @param netnsCookie stored and returned unchanged
 * @param pid stored and returned unchanged
 * @param policyEnabled refused; the rules and {@code --enable-policy} decide enforcement
 * @param properties JSON text, stored unchanged
 * @param namedPorts its named ports; in a change they replace all that it has
 * @param syncBuildEndpoint whether to answer only after the endpoint is built
 */
public record EndpointRequest(
    String state,
    AddressingRequest addressing,
    String containerId,
    String containerInterfaceName,
    String containerName,
    DatapathConfiguration datapathConfiguration,
    Integer datapathMapId,
    Boolean disableLegacyIdentifiers,
    String runtimeEndpointId,
    String runtimeNetworkId,
    String hostMac,
    String mac,
    Integer id,
    Integer interfaceIndex,
    String interfaceName,
    String namespace,
    String podName,
    String podUid,
    List<String> labels,
    String netnsCookie,
    Integer pid,
    Boolean policyEnabled,
    String properties,
    List<RequestedPort> namedPorts,
    Boolean syncBuildEndpoint) {

  /**
   * A named port as received.
   *
   * @param name required: a service name of RFC 6335
   * @param port required: the number
   * @param protocol {@code TCP}, {@code UDP} or {@code SCTP}; null for {@code TCP}
   */
  public record RequestedPort(String name, Integer port, String protocol) {}
}
