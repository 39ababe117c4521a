package agent.datapath.spec;

import agent.maps.layout.PolicyFlag;
import agent.maps.layout.RedirectKind;

/**
 * The verdict of a policy entry on a matching packet: allow, deny, or redirect its flow to a local
 * proxy; each optionally with the audit flag. The components are those of {@code struct
 * policy_entry} ({@code maps/policy_map.h}). Ordered by flags and redirect.
 *
 * @param flags bits of {@link PolicyFlag}; 0 allows
 * @param redirect the number of a {@link RedirectKind}, 1 to 65535, with {@link
 *     PolicyFlag#REDIRECT}; else 0
 */
public record PolicyVerdict(int flags, int redirect) implements Comparable<PolicyVerdict> {
  private static final int REDIRECT_MAX = 65535;
  private static final int KNOWN_FLAGS =
      PolicyFlag.DENY.number() | PolicyFlag.REDIRECT.number() | PolicyFlag.AUDIT.number();

  /** The packet passes. */
  public static final PolicyVerdict ALLOW = new PolicyVerdict(0, 0);

  /** The packet is dropped; a deny takes precedence over an allow. */
  public static final PolicyVerdict DENY = new PolicyVerdict(PolicyFlag.DENY.number(), 0);

  /**
   * Checks that the flags do not contradict each other or the redirect.
   *
   * @throws IllegalArgumentException where an unknown flag is set, where deny and redirect are both
   *     set, or where a redirect is given without its flag or the flag without one
   */
  public PolicyVerdict {
    if (!isValid(flags, redirect)) {
      throw new IllegalArgumentException(
          "policy verdict: flags 0x%x with redirect %d".formatted(flags, redirect));
    }
  }

  /** Returns whether the two values of a map entry are a valid verdict. */
  public static boolean isValid(int flags, int redirect) {
    final boolean isRedirect = (flags & PolicyFlag.REDIRECT.number()) != 0;
    return (flags & ~KNOWN_FLAGS) == 0
        && !(isRedirect && (flags & PolicyFlag.DENY.number()) != 0)
        && (isRedirect ? redirect > 0 && redirect <= REDIRECT_MAX : redirect == 0);
  }

  /** Returns the verdict that sends a flow to a proxy of this node. */
  public static PolicyVerdict redirect(RedirectKind kind) {
    return redirect(kind.number());
  }

  /**
   * Returns the verdict that sends a flow to the proxy with this number.
   *
   * @param redirect 1 to 65535
   * @throws IllegalArgumentException where the number is out of range
   */
  public static PolicyVerdict redirect(int redirect) {
    return new PolicyVerdict(PolicyFlag.REDIRECT.number(), redirect);
  }

  /** Returns this verdict with the audit flag. */
  public PolicyVerdict audited() {
    return new PolicyVerdict(flags | PolicyFlag.AUDIT.number(), redirect);
  }

  /** Returns whether the packet is dropped. */
  public boolean isDeny() {
    return (flags & PolicyFlag.DENY.number()) != 0;
  }

  /** Returns whether the flow is sent to the proxy {@link #redirect()}. */
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
    return order != 0 ? order : Integer.compare(redirect, other.redirect);
  }
}
