package agent.endpoint.state;

import agent.node.NodeAddressing;
import agent.types.MacAddress;

/**
 * The interface and the addresses of an endpoint.
 *
 * @param addressing its addresses
 * @param containerInterfaceName the device in the workload's namespace, or null
 * @param node the node's addresses
 * @param hostMac the hardware address of the host side
 * @param mac the hardware address of the workload's side
 * @param interfaceIndex the host side's index
 * @param interfaceName the host side's name
 */
public record EndpointNetworking(
    EndpointAddressing addressing,
    String containerInterfaceName,
    NodeAddressing node,
    MacAddress hostMac,
    MacAddress mac,
    int interfaceIndex,
    String interfaceName) {}
