package agent.policy;

import agent.datapath.manager.spec.PolicyEntry;
import agent.datapath.manager.spec.PolicyVerdict;
import agent.maps.layout.PolicyDirection;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * The verdicts of the rules on one peer identity in one direction. The datapath takes the longest
 * prefix within one identity, so an allow within a deny of the same identity is left out. It looks
 * up the identity and any identity, and a deny of either takes precedence, so entries that any
 * identity has are not repeated.
 */
final class VerdictTable {
  private final Set<PortMatch> allows = new HashSet<>();
  private final Set<PortMatch> denies = new HashSet<>();

  void add(List<PortMatch> matches, boolean deny) {
    (deny ? denies : allows).addAll(matches);
  }

  /** Returns the allows that no deny of this identity or of any identity covers. */
  Set<PortMatch> allowed(VerdictTable any) {
    final Set<PortMatch> left = new HashSet<>();
    for (final PortMatch match : allows) {
      if (!isWithin(match, denies) && !isWithin(match, any.denies)) {
        left.add(match);
      }
    }
    return left;
  }

  boolean denies() {
    return !denies.isEmpty();
  }

  /** The fewest entries that give the same verdicts beside the table of any identity. */
  void write(int identity, PolicyDirection direction, VerdictTable any, List<PolicyEntry> entries) {
    final boolean isAny = any == this;
    final Set<PortMatch> allowed = allowed(any);
    final Set<PortMatch> anyAllowed = isAny ? Set.of() : any.allowed(any);
    final Set<PortMatch> anyDenied = isAny ? Set.of() : any.denies;
    for (final PortMatch match : allowed) {
      if (!isBelow(match, allowed) && !isWithin(match, anyAllowed)) {
        entries.add(match.entry(identity, direction, PolicyVerdict.ALLOW));
      }
    }
    for (final PortMatch match : denies) {
      if (!isBelow(match, denies) && !isWithin(match, anyDenied)) {
        entries.add(match.entry(identity, direction, PolicyVerdict.DENY));
      }
    }
  }

  private static boolean isWithin(PortMatch match, Set<PortMatch> others) {
    return !others.isEmpty() && match.isWithin(others);
  }

  private static boolean isBelow(PortMatch match, Set<PortMatch> others) {
    final PortMatch wider = match.parent();
    return wider != null && wider.isWithin(others);
  }

  static List<PolicyEntry> sorted(List<PolicyEntry> entries) {
    final List<PolicyEntry> list = new ArrayList<>(entries);
    list.sort(null);
    return List.copyOf(list);
  }
}
