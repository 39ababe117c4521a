package agent.policy.model;

import agent.datapath.spec.PolicyEntry;
import agent.maps.layout.PolicyDirection;
import java.util.Collection;
import java.util.List;

/**
 * A model of the policy map lookup of the datapath: finds the longest prefix for the peer's
 * identity and the longest for any identity; if either denies, the packet is denied, otherwise it
 * is allowed if either allows it.
 */
public final class PolicyMapModel {
  private final List<PolicyEntry> entries;

  /** Creates a map that holds these entries. */
  public PolicyMapModel(Collection<PolicyEntry> entries) {
    this.entries = List.copyOf(entries);
  }

  /** Returns the verdict of the map on a packet. */
  public Verdict verdict(int identity, PolicyDirection direction, int protocol, int port) {
    final PolicyEntry own = longest(identity, direction, protocol, port);
    final PolicyEntry any = longest(0, direction, protocol, port);
    if (own != null && own.isDeny() || any != null && any.isDeny()) {
      return Verdict.DENIED;
    }
    return own != null || any != null ? Verdict.ALLOWED : Verdict.NOT_ALLOWED;
  }

  /**
   * Returns the number of the proxy of an allowed flow: 0, for none, where the identity or any
   * identity allows it without one; else the lower number of both.
   */
  public int proxy(int identity, PolicyDirection direction, int protocol, int port) {
    final PolicyEntry own = longest(identity, direction, protocol, port);
    final PolicyEntry any = longest(0, direction, protocol, port);
    if (own == null || any == null) {
      return own != null ? own.verdict().redirect() : any != null ? any.verdict().redirect() : 0;
    }
    return Math.min(own.verdict().redirect(), any.verdict().redirect());
  }

  private PolicyEntry longest(int identity, PolicyDirection direction, int protocol, int port) {
    final long wanted = bits(identity, direction, protocol, port);
    PolicyEntry best = null;
    for (final PolicyEntry entry : entries) {
      final long key = bits(entry.identity(), entry.direction(), entry.protocol(), entry.port());
      final int rest = 64 - entry.prefixLength();
      if (key >>> rest == wanted >>> rest
          && (best == null || best.prefixLength() < entry.prefixLength())) {
        best = entry;
      }
    }
    return best;
  }

  /** Returns the 64 bits of struct policy_key after its prefix length, in the order of the trie. */
  private static long bits(int identity, PolicyDirection direction, int protocol, int port) {
    return Integer.toUnsignedLong(identity) << 32
        | (long) direction.number() << 24
        | (long) protocol << 16
        | port;
  }
}
