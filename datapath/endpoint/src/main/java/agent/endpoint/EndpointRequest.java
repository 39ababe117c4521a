package agent.endpoint;

import java.util.List;

/**
 * The create/modify request of the contract, not yet read: the domain checks every value and names
 * the field it refuses. Null stands for absent everywhere.
 *
 * @param state required, one of the names of {@link EndpointState}; what the agent makes of the
 *     endpoint is its own decision
 * @param addressing its addresses; without any, one of each enabled family is allocated
 * @param containerId the runtime's id
 * @param containerInterfaceName the device in the workload's namespace
 * @param containerName the runtime's name
 * @param datapathConfiguration how it is wired
 * @param datapathMapId kept, without meaning to this datapath
 * @param disableLegacyIdentifiers no lookup by container id, container name and pod name
 * @param runtimeEndpointId the runtime's endpoint id
 * @param runtimeNetworkId the runtime's network id
 * @param hostMac the host side's hardware address; read from the device where absent
 * @param mac the workload's hardware address; required on creation
 * @param id the local id; 0 and absent mean any
 * @param interfaceIndex the host side's index; must be that of the name where both are given
 * @param interfaceName the host side's name
 * @param namespace the orchestrator's namespace
 * @param podName the orchestrator's name
 * @param podUid the orchestrator's id
 * @param labels labels of the workload
 * @param netnsCookie kept
 * @param pid kept
 * @param policyEnabled kept; enforcement follows the rules and {@code --enable-policy}
 * @param properties JSON text, kept as it is
 * @param syncBuildEndpoint answer only when the endpoint is enforced
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
    Boolean syncBuildEndpoint) {}
