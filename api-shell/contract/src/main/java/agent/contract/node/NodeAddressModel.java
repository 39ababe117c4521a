package agent.contract.node;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * An address of this node and the pool behind it.
 *
 * @param addressType HostName, ExternalIP or InternalIP
 * @param allocRange address pool used for local endpoints, a CIDR
 * @param enabled whether the address family is enabled
 * @param ip address of the node
 */
public record NodeAddressModel(
    @JsonProperty("address-type") String addressType,
    @JsonProperty("alloc-range") String allocRange,
    @JsonProperty("enabled") Boolean enabled,
    @JsonProperty("ip") String ip) {}
