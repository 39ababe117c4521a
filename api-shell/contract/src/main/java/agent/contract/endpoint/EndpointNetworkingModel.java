package agent.contract.endpoint;

import agent.contract.ipam.AddressPairModel;
import agent.contract.node.NodeAddressingModel;
import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * Addresses and devices of an endpoint.
 *
 * @param addressing addresses
 * @param containerInterfaceName device name in the network namespace of the workload
 * @param hostAddressing addresses of the node
 * @param hostMac MAC of the host side
 * @param interfaceIndex device index of the host side
 * @param interfaceName device name of the host side
 * @param mac MAC of the workload
 */
public record EndpointNetworkingModel(
    @JsonProperty("addressing") List<AddressPairModel> addressing,
    @JsonProperty("container-interface-name") String containerInterfaceName,
    @JsonProperty("host-addressing") NodeAddressingModel hostAddressing,
    @JsonProperty("host-mac") String hostMac,
    @JsonProperty("interface-index") Integer interfaceIndex,
    @JsonProperty("interface-name") String interfaceName,
    @JsonProperty("mac") String mac) {}
