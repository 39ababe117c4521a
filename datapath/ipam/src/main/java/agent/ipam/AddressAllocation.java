package agent.ipam;

import java.util.Optional;

/**
 * The answer to an allocation.
 *
 * @param ipv4 the IPv4 address, where one was given
 * @param ipv6 the IPv6 address, where one was given
 */
public record AddressAllocation(Optional<AllocatedAddress> ipv4, Optional<AllocatedAddress> ipv6) {}
