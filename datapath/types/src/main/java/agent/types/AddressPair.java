package agent.types;

/**
 * An address of each family.
 *
 * @param ipv4 an IPv4 address, or null
 * @param ipv6 an IPv6 address, or null
 */
public record AddressPair(IpAddress ipv4, IpAddress ipv6) {
  /** No address. */
  public static final AddressPair NONE = new AddressPair(null, null);

  /** Returns the IPv4 address as a number; 0 where there is none. */
  public int ipv4Number() {
    return ipv4 == null ? 0 : (int) ipv4.low();
  }

  /** Returns the upper 64 bits of the IPv6 address; 0 where there is none. */
  public long ipv6High() {
    return ipv6 == null ? 0 : ipv6.high();
  }

  /** Returns the lower 64 bits of the IPv6 address; 0 where there is none. */
  public long ipv6Low() {
    return ipv6 == null ? 0 : ipv6.low();
  }
}
