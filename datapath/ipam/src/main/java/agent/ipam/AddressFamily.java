package agent.ipam;

import agent.types.Refusal;

/** Which family an allocation asks for. */
public enum AddressFamily {
  /** IPv4 alone. */
  IPV4,
  /** IPv6 alone. */
  IPV6,
  /** Every family that is enabled and that the pool has. */
  BOTH;

  /**
   * Reads the parameter {@code family} of POST /ipam.
   *
   * @param text {@code ipv4}, {@code ipv6}, or null or empty for both
   * @return the family
   * @throws Refusal INVALID
   */
  public static AddressFamily parse(String text) {
    if (text == null || text.isEmpty()) {
      return BOTH;
    }
    return switch (text) {
      case "ipv4" -> IPV4;
      case "ipv6" -> IPV6;
      default -> throw Refusal.invalid("family", "'" + text + "' is neither ipv4 nor ipv6");
    };
  }
}
