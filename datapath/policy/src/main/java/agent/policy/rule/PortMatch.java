package agent.policy.rule;

import agent.datapath.spec.PolicyEntry;
import agent.datapath.spec.PolicyVerdict;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.PolicyPrefix;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

/**
 * The part of a policy key with protocol and port: everything (prefix length 40), a protocol (48),
 * or a protocol and a prefix of the port (49 to 64).
 *
 * @param protocol the IP protocol number; 0 for everything
 * @param port the port or ICMP message type, bits past the prefix being 0
 * @param prefixLength 40, or 48 to 64
 */
public record PortMatch(int protocol, int port, int prefixLength) implements Comparable<PortMatch> {
  /** Every protocol and port. */
  public static final PortMatch ALL = new PortMatch(0, 0, PolicyPrefix.IDENTITY);

  private static final int HIGHEST = 65535;

  /** So many are compared one by one; of more, those that can cover a match are looked for. */
  private static final int FEW = 8;

  /** Returns every port of a protocol. */
  public static PortMatch ofProtocol(int protocol) {
    return new PortMatch(protocol, 0, PolicyPrefix.PROTOCOL);
  }

  /** Returns one port. */
  public static PortMatch of(int protocol, int port) {
    return new PortMatch(protocol, port, PolicyPrefix.PORT);
  }

  /** Returns the fewest aligned prefixes that together are the ports from first to last. */
  public static List<PortMatch> range(int protocol, int first, int last) {
    final List<PortMatch> matches = new ArrayList<>();
    int from = first;
    while (from <= last) {
      int bits = from == 0 ? 16 : Math.min(16, Integer.numberOfTrailingZeros(from));
      while (from + (1 << bits) - 1 > last) {
        bits--;
      }
      matches.add(new PortMatch(protocol, from, PolicyPrefix.PORT - bits));
      from += 1 << bits;
    }
    return matches;
  }

  /** Returns the next shorter match that covers this one, or null for {@link #ALL}. */
  public PortMatch parent() {
    if (prefixLength == PolicyPrefix.IDENTITY) {
      return null;
    }
    if (prefixLength == PolicyPrefix.PROTOCOL) {
      return ALL;
    }
    final int length = prefixLength - 1;
    return new PortMatch(protocol, port & HIGHEST << PolicyPrefix.PORT - length & HIGHEST, length);
  }

  /** Returns whether all of another match is in this one. */
  private boolean covers(PortMatch other) {
    return prefixLength == PolicyPrefix.IDENTITY
        || prefixLength <= other.prefixLength
            && protocol == other.protocol
            && (port ^ other.port) >>> PolicyPrefix.PORT - prefixLength == 0;
  }

  /** Returns whether one of the others covers all of this match. */
  public boolean isWithin(Collection<PortMatch> others) {
    if (others.size() <= FEW) {
      for (final PortMatch other : others) {
        if (other.covers(this)) {
          return true;
        }
      }
      return false;
    }
    for (PortMatch wider = this; wider != null; wider = wider.parent()) {
      if (others.contains(wider)) {
        return true;
      }
    }
    return false;
  }

  /** Returns the policy map entry with this verdict. */
  public PolicyEntry entry(int identity, PolicyDirection direction, PolicyVerdict verdict) {
    return new PolicyEntry(identity, direction, protocol, port, prefixLength, verdict);
  }

  @Override
  public int compareTo(PortMatch other) {
    int order = Integer.compare(protocol, other.protocol);
    order = order != 0 ? order : Integer.compare(port, other.port);
    return order != 0 ? order : Integer.compare(prefixLength, other.prefixLength);
  }
}
