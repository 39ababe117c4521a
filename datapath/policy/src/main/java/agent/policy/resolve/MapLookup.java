package agent.policy.resolve;

import agent.datapath.spec.PolicyEntry;
import agent.datapath.spec.PolicyVerdict;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.PolicyPrefix;
import agent.policy.rule.PortMatch;
import java.util.List;

/**
 * Looks up entries as the datapath does ({@code bpf-src/include/lib/policy.h}): the longest prefix
 * of the peer's identity and the longest of any identity. A deny of either takes precedence, then
 * an allow of either, then the redirect with the lower number.
 */
public final class MapLookup {
  private static final int ANY_IDENTITY = 0;
  private static final int PORT_MASK = 0xFFFF;

  private final List<PolicyEntry> entries;
  private final PolicyDirection direction;
  private final int identity;

  /**
   * Creates a lookup.
   *
   * @param entries in order
   */
  public MapLookup(List<PolicyEntry> entries, PolicyDirection direction, int identity) {
    this.entries = entries;
    this.direction = direction;
    this.identity = identity;
  }

  /** Returns the verdict on a packet; null where no entry matches. */
  public PolicyVerdict verdict(PortMatch packet) {
    return verdict(
        entries, direction, identity, packet.protocol(), packet.port(), packet.prefixLength());
  }

  /**
   * Returns the verdict on a packet, or on all packets of a prefix, without allocating; null where
   * no entry matches.
   *
   * @param entries in order
   */
  public static PolicyVerdict verdict(
      List<PolicyEntry> entries,
      PolicyDirection direction,
      int identity,
      int protocol,
      int port,
      int prefixLength) {
    final PolicyEntry own = longest(entries, direction, identity, protocol, port, prefixLength);
    final PolicyEntry any = longest(entries, direction, ANY_IDENTITY, protocol, port, prefixLength);
    if (own == null || any == null) {
      return own != null ? own.verdict() : any != null ? any.verdict() : null;
    }
    return precedence(own.verdict()) <= precedence(any.verdict()) ? own.verdict() : any.verdict();
  }

  private static int precedence(PolicyVerdict verdict) {
    return verdict.isDeny() ? -1 : verdict.redirect();
  }

  /** Returns whether a packet passes, be it by way of a proxy. */
  public boolean allows(PortMatch packet) {
    final PolicyVerdict verdict = verdict(packet);
    return verdict != null && !verdict.isDeny();
  }

  /** Returns whether every packet passes, whatever its protocol and port. */
  public boolean allowsEverything() {
    return allows(PortMatch.ALL)
        && entries.stream().noneMatch(entry -> isAbout(entry) && entry.isDeny());
  }

  private boolean isAbout(PolicyEntry entry) {
    return entry.direction() == direction
        && (entry.identity() == identity || entry.identity() == ANY_IDENTITY);
  }

  private static PolicyEntry longest(
      List<PolicyEntry> entries,
      PolicyDirection direction,
      int identity,
      int protocol,
      int port,
      int prefixLength) {
    final int from = first(entries, direction, identity, false);
    final int to = first(entries, direction, identity, true);
    for (int length = prefixLength; from < to && length >= PolicyPrefix.PROTOCOL; length--) {
      final int masked = port & PORT_MASK << PolicyPrefix.PORT - length;
      final int found = find(entries, from, to, protocol, masked & PORT_MASK, length);
      if (found >= 0) {
        return entries.get(found);
      }
    }
    final int all = find(entries, from, to, 0, 0, PolicyPrefix.IDENTITY);
    return all < 0 ? null : entries.get(all);
  }

  /**
   * Returns the index of the first entry of an identity in one direction, or where it would be.
   *
   * @param entries in order
   * @param isBehind whether that of the next identity is asked for
   */
  static int first(
      List<PolicyEntry> entries, PolicyDirection direction, int identity, boolean isBehind) {
    int low = 0;
    int high = entries.size();
    while (low < high) {
      final int middle = low + high >>> 1;
      final PolicyEntry entry = entries.get(middle);
      int order = entry.direction().compareTo(direction);
      order = order != 0 ? order : Integer.compare(entry.identity(), identity);
      if (order < 0 || isBehind && order == 0) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  /** Searches among the entries of one identity and direction. */
  private static int find(
      List<PolicyEntry> entries, int from, int to, int protocol, int port, int prefixLength) {
    int low = from;
    int high = to - 1;
    while (low <= high) {
      final int middle = low + high >>> 1;
      final PolicyEntry entry = entries.get(middle);
      int order = Integer.compare(entry.protocol(), protocol);
      order = order != 0 ? order : Integer.compare(entry.port(), port);
      order = order != 0 ? order : Integer.compare(entry.prefixLength(), prefixLength);
      if (order == 0) {
        return middle;
      }
      low = order < 0 ? middle + 1 : low;
      high = order > 0 ? middle - 1 : high;
    }
    return -1;
  }
}
