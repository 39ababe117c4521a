package agent.datapath.manager.spec;

import agent.maps.layout.PolicyFlag;

/**
 * The verdict of a policy entry on a matching packet: allow, deny, or redirect its flow to a local
 * proxy; each optionally with the audit flag. The components are those of {@code struct
 * policy_entry} ({@code maps/policy_map.h}). Ordered by flags and proxy port.
 *
 * @param flags bits of {@link PolicyFlag}; 0 allows
 * @param proxyPort the proxy's port in host order, 1 to 65535, with {@link PolicyFlag#REDIRECT};
 *     else 0
 */
public record PolicyVerdict(int flags, int proxyPort) implements Comparable<PolicyVerdict> {
  private static final int PORT_MAX = 65535;
  private static final int KNOWN_FLAGS =
      PolicyFlag.DENY.number() | PolicyFlag.REDIRECT.number() | PolicyFlag.AUDIT.number();

  /** The packet passes. */
  public static final PolicyVerdict ALLOW = new PolicyVerdict(0, 0);

  /** The packet is dropped; a deny takes precedence over an allow. */
  public static final PolicyVerdict DENY = new PolicyVerdict(PolicyFlag.DENY.number(), 0);

  /**
   * Checks that the flags do not contradict each other or the port.
   *
   * @throws IllegalArgumentException where an unknown flag is set, where deny and redirect are both
   *     set, or where a port is given without redirect or redirect without a port
   */
  public PolicyVerdict {
    if (!isValid(flags, proxyPort)) {
      throw new IllegalArgumentException(
          "policy verdict: flags 0x%x with proxy port %d".formatted(flags, proxyPort));
    }
  }

  /** Returns whether the two values of a map entry are a valid verdict. */
  public static boolean isValid(int flags, int proxyPort) {
    final boolean isRedirect = (flags & PolicyFlag.REDIRECT.number()) != 0;
    return (flags & ~KNOWN_FLAGS) == 0
        && !(isRedirect && (flags & PolicyFlag.DENY.number()) != 0)
        && (isRedirect ? proxyPort > 0 && proxyPort <= PORT_MAX : proxyPort == 0);
  }

  /**
   * Returns the verdict that redirects a flow to a proxy on this node.
   *
   * @param proxyPort the port that the proxy listens on, 1 to 65535, in host order
   * @return the verdict
   * @throws IllegalArgumentException where the port is out of range
   */
  public static PolicyVerdict redirect(int proxyPort) {
    return new PolicyVerdict(PolicyFlag.REDIRECT.number(), proxyPort);
  }

  /** Returns this verdict with the audit flag. */
  public PolicyVerdict audited() {
    return new PolicyVerdict(flags | PolicyFlag.AUDIT.number(), proxyPort);
  }

  /** Returns whether the packet is dropped. */
  public boolean isDeny() {
    return (flags & PolicyFlag.DENY.number()) != 0;
  }

  /** Returns whether the flow is redirected to the proxy at {@link #proxyPort()}. */
  public boolean isRedirect() {
    return (flags & PolicyFlag.REDIRECT.number()) != 0;
  }

  /** Returns whether the audit flag is set. */
  public boolean isAudited() {
    return (flags & PolicyFlag.AUDIT.number()) != 0;
  }

  @Override
  public int compareTo(PolicyVerdict other) {
    final int order = Integer.compare(flags, other.flags);
    return order != 0 ? order : Integer.compare(proxyPort, other.proxyPort);
  }
}
