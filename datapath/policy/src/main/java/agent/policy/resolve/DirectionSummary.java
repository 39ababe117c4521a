package agent.policy.resolve;

import agent.datapath.spec.PolicyEntry;
import agent.maps.layout.PolicyDirection;
import agent.policy.rule.DerivedRule;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * The summary of a resolved policy for one direction.
 *
 * @param enforced whether policy is enforced
 * @param anyAllowed whether some port is allowed to every identity, the denied ones aside
 * @param anyDenied whether some port is denied to every identity by a rule
 * @param allowed identities that some port is allowed to, in order
 * @param denied identities that some port is denied to by a rule, in order
 * @param l4 the lines about endpoints, entities and everybody
 * @param cidr the lines about CIDRs
 */
public record DirectionSummary(
    boolean enforced,
    boolean anyAllowed,
    boolean anyDenied,
    List<Integer> allowed,
    List<Integer> denied,
    List<DerivedRule> l4,
    List<DerivedRule> cidr) {
  /** The summary of a direction in which nothing is allowed, and nothing resolved. */
  public static final DirectionSummary NONE = of(false, false);

  /** The summary of a direction in which policy is not enforced. */
  static final DirectionSummary OPEN = of(false, true);

  private static final int ANY_IDENTITY = 0;

  /** Returns a summary without identities and lines. */
  public static DirectionSummary of(boolean enforced, boolean anyAllowed) {
    return new DirectionSummary(
        enforced, anyAllowed, false, List.of(), List.of(), List.of(), List.of());
  }

  /**
   * Returns the summary of a policy of which the map holds only a part.
   *
   * @param whole the entries of the policy that this is the summary of
   * @param kept the entries that the map holds
   * @param former the summary of the policy before it, whose allows are kept where they fit
   */
  DirectionSummary reduced(
      PolicyDirection direction,
      List<PolicyEntry> whole,
      List<PolicyEntry> kept,
      DirectionSummary former) {
    final Set<Integer> allows = identities(direction, kept, false);
    final Set<Integer> denies = identities(direction, kept, true);
    return new DirectionSummary(
        enforced,
        allows.contains(ANY_IDENTITY),
        denies.contains(ANY_IDENTITY),
        left(allowed, identities(direction, whole, false), allows),
        left(denied, identities(direction, whole, true), denies),
        left(l4, former.l4),
        left(cidr, former.cidr));
  }

  private static Set<Integer> identities(
      PolicyDirection direction, List<PolicyEntry> entries, boolean isDeny) {
    final Set<Integer> found = new HashSet<>();
    for (final PolicyEntry entry : entries) {
      if (entry.direction() == direction && entry.isDeny() == isDeny) {
        found.add(entry.identity());
      }
    }
    return found;
  }

  /** An identity has no entry of its own where the entries of any identity say the same. */
  private static List<Integer> left(List<Integer> listed, Set<Integer> whole, Set<Integer> kept) {
    return listed.stream()
        .filter(identity -> whole.contains(identity) ? kept.contains(identity) : kept.contains(0))
        .toList();
  }

  private static List<DerivedRule> left(List<DerivedRule> lines, List<DerivedRule> former) {
    return lines.stream()
        .filter(line -> line.rule().startsWith(SummaryLines.DENY) || former.contains(line))
        .toList();
  }
}
