package agent.ipam;

import agent.types.IpAddress;
import agent.types.Prefix;
import java.util.List;

/**
 * One address of an allocation, with the values that its user needs.
 *
 * @param address the address
 * @param pool the pool it comes from
 * @param gateway the gateway of its family, null where the node has none
 * @param cidrs the pool's prefixes of its family
 * @param expirationUuid the expiration timer, null where none runs
 */
public record AllocatedAddress(
    IpAddress address, String pool, IpAddress gateway, List<Prefix> cidrs, String expirationUuid) {}
