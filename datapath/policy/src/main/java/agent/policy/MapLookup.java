package agent.policy;

import agent.datapath.manager.spec.PolicyEntry;
import agent.maps.layout.PolicyDirection;
import java.util.List;

/**
 * Looks up entries as the datapath does ({@code bpf-src/include/lib/policy.h}): the longest prefix
 * of the peer's identity and the longest of any identity; a deny of either takes precedence.
 */
final class MapLookup {
  private static final int ANY_IDENTITY = 0;

  private final List<PolicyEntry> entries;
  private final PolicyDirection direction;
  private final int identity;

  MapLookup(List<PolicyEntry> entries, PolicyDirection direction, int identity) {
    this.entries = entries;
    this.direction = direction;
    this.identity = identity;
  }

  /** Returns whether a packet passes. */
  boolean allows(PortMatch packet) {
    final PolicyEntry own = longest(identity, packet);
    final PolicyEntry any = longest(ANY_IDENTITY, packet);
    final boolean isDenied = own != null && own.isDeny() || any != null && any.isDeny();
    return !isDenied && (own != null || any != null);
  }

  /** Returns whether every packet passes, whatever its protocol and port. */
  boolean allowsEverything() {
    return allows(PortMatch.ALL)
        && entries.stream().noneMatch(entry -> isAbout(entry) && entry.isDeny());
  }

  private boolean isAbout(PolicyEntry entry) {
    return entry.direction() == direction
        && (entry.identity() == identity || entry.identity() == ANY_IDENTITY);
  }

  private PolicyEntry longest(int wanted, PortMatch packet) {
    PolicyEntry best = null;
    for (final PolicyEntry entry : entries) {
      if (entry.direction() == direction
          && entry.identity() == wanted
          && packet.isWithin(entry)
          && (best == null || best.prefixLength() < entry.prefixLength())) {
        best = entry;
      }
    }
    return best;
  }
}
