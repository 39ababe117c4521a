package agent.endpoint.request;

/**
 * The address record of a request as received, not yet validated. Every value may be null.
 *
 * @param ipv4 an IPv4 address
 * @param ipv4ExpirationUuid the timer that POST /ipam returned with it
 * @param ipv4PoolName its pool
 * @param ipv6 an IPv6 address
 * @param ipv6ExpirationUuid the timer that POST /ipam returned with it
 * @param ipv6PoolName its pool
 */
public record AddressingRequest(
    String ipv4,
    String ipv4ExpirationUuid,
    String ipv4PoolName,
    String ipv6,
    String ipv6ExpirationUuid,
    String ipv6PoolName) {
  /** A request that names no address. */
  public static final AddressingRequest NONE =
      new AddressingRequest(null, null, null, null, null, null);
}
