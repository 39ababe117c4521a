package agent.endpoint.state;

import agent.types.IpAddress;

/**
 * The addresses of an endpoint. Every value may be null.
 *
 * @param ipv4 its IPv4 address
 * @param ipv4ExpirationUuid the expiration timer of the lease that was adopted
 * @param ipv4PoolName the pool of the IPv4 address
 * @param ipv6 its IPv6 address
 * @param ipv6ExpirationUuid the expiration timer of the lease that was adopted
 * @param ipv6PoolName the pool of the IPv6 address
 */
public record EndpointAddressing(
    IpAddress ipv4,
    String ipv4ExpirationUuid,
    String ipv4PoolName,
    IpAddress ipv6,
    String ipv6ExpirationUuid,
    String ipv6PoolName) {}
