package agent.policy.resolve;

import agent.datapath.spec.PolicyEntry;
import agent.datapath.spec.PolicyVerdict;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.RedirectKind;
import agent.policy.rule.PortMatch;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The verdicts of the rules on one peer identity in one direction. The datapath takes the longest
 * prefix within one identity. It looks up the identity and any identity: a deny of either takes
 * precedence, then an allow of either, then the redirect with the lower number. The entries say the
 * same within one identity: an allow or redirect within a deny is left out, as is a redirect within
 * an allow, or within a redirect whose number is not higher. So entries that any identity has are
 * not repeated.
 */
final class VerdictTable {
  private final Set<PortMatch> allows = new HashSet<>();
  private final Set<PortMatch> denies = new HashSet<>();
  private final Map<PortMatch, RedirectKind> redirects = new HashMap<>();

  void add(Collection<PortMatch> matches, boolean deny) {
    (deny ? denies : allows).addAll(matches);
  }

  /** Adds an allow of requests; of two kinds the one with the lower number asks for its rules. */
  void redirect(List<PortMatch> matches, RedirectKind kind) {
    matches.forEach(match -> redirects.merge(match, kind, VerdictTable::lower));
  }

  private static RedirectKind lower(RedirectKind one, RedirectKind other) {
    return one.number() < other.number() ? one : other;
  }

  /** Returns whether something is allowed that no deny of this identity or of any covers. */
  boolean allowsAnything(VerdictTable any) {
    return !allowed(any).isEmpty()
        || redirects.keySet().stream().anyMatch(match -> !isDenied(match, any));
  }

  private Set<PortMatch> allowed(VerdictTable any) {
    if (denies.isEmpty() && any.denies.isEmpty()) {
      return allows;
    }
    final Set<PortMatch> left = new HashSet<>();
    for (final PortMatch match : allows) {
      if (!isDenied(match, any)) {
        left.add(match);
      }
    }
    return left;
  }

  private boolean isDenied(PortMatch match, VerdictTable any) {
    return isWithin(match, denies) || isWithin(match, any.denies);
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
    redirects.forEach(
        (match, kind) -> {
          if (!isDenied(match, any)
              && !isWithin(match, allowed)
              && !isWithin(match, anyAllowed)
              && !redirects(match.parent(), kind)
              && (isAny || !any.redirects(match, kind))) {
            entries.add(match.entry(identity, direction, PolicyVerdict.redirect(kind)));
          }
        });
  }

  /** Returns whether one redirect whose number is not higher covers a match. */
  private boolean redirects(PortMatch match, RedirectKind kind) {
    for (PortMatch wider = match; wider != null && !redirects.isEmpty(); wider = wider.parent()) {
      final RedirectKind found = redirects.get(wider);
      if (found != null && found.number() <= kind.number()) {
        return true;
      }
    }
    return false;
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
