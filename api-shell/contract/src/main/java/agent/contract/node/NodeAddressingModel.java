package agent.contract.node;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * The node address records of both families.
 *
 * @param ipv4 IPv4
 * @param ipv6 IPv6
 */
public record NodeAddressingModel(
    @JsonProperty("ipv4") NodeAddressModel ipv4, @JsonProperty("ipv6") NodeAddressModel ipv6) {}
