package agent.contract.ipam;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * The addresses of a workload, one a family at most.
 *
 * @param ipv4 IPv4 address
 * @param ipv4ExpirationUuid expiration timer of the IPv4 address
 * @param ipv4PoolName pool of the IPv4 address
 * @param ipv6 IPv6 address
 * @param ipv6ExpirationUuid expiration timer of the IPv6 address
 * @param ipv6PoolName pool of the IPv6 address
 */
public record AddressPairModel(
    @JsonProperty("ipv4") String ipv4,
    @JsonProperty("ipv4-expiration-uuid") String ipv4ExpirationUuid,
    @JsonProperty("ipv4-pool-name") String ipv4PoolName,
    @JsonProperty("ipv6") String ipv6,
    @JsonProperty("ipv6-expiration-uuid") String ipv6ExpirationUuid,
    @JsonProperty("ipv6-pool-name") String ipv6PoolName) {}
