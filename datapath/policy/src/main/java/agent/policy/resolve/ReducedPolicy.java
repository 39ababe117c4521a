package agent.policy.resolve;

import agent.datapath.spec.PolicyEntry;
import agent.maps.layout.PolicyDirection;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * The policy that is enforced where the resolved one does not fit into the map. It has every deny
 * of the resolved policy. Of the allows it has those that the map holds already, as far as there is
 * room, entries for any peer first. So it never allows more than the resolved policy.
 *
 * @param kept the entries of the map that stay; written first, it makes room
 * @param whole the same and the denies that are new
 */
public record ReducedPolicy(ResolvedPolicy kept, ResolvedPolicy whole) {
  private static final int ANY_IDENTITY = 0;

  /**
   * Reduces a policy to what fits.
   *
   * @param former the policy that the map holds
   * @param wanted the resolved policy, which does not fit
   * @param capacity how many entries the map can hold
   */
  public static ReducedPolicy of(ResolvedPolicy former, ResolvedPolicy wanted, int capacity) {
    final Set<PolicyEntry> before = new HashSet<>(former.entries());
    final List<PolicyEntry> whole = new ArrayList<>();
    for (final PolicyEntry entry : wanted.entries()) {
      if (entry.isDeny()) {
        whole.add(entry);
      }
    }
    if (whole.size() > capacity) {
      // Not even the denies fit: without an entry nothing is allowed.
      whole.clear();
    } else {
      wanted.entries().stream()
          .filter(entry -> !entry.isDeny() && before.contains(entry))
          .sorted(Comparator.comparing(entry -> entry.identity() != ANY_IDENTITY))
          .limit(capacity - whole.size())
          .forEach(whole::add);
    }
    final List<PolicyEntry> kept = whole.stream().filter(before::contains).toList();
    return new ReducedPolicy(with(former, wanted, kept), with(former, wanted, whole));
  }

  /** Returns the policy at its former revision, because the new revision is not enforced. */
  private static ResolvedPolicy with(
      ResolvedPolicy former, ResolvedPolicy wanted, List<PolicyEntry> entries) {
    return new ResolvedPolicy(
        former.revision(),
        wanted.identity(),
        VerdictTable.sorted(entries),
        wanted
            .ingress()
            .reduced(PolicyDirection.INGRESS, wanted.entries(), entries, former.ingress()),
        wanted.egress().reduced(PolicyDirection.EGRESS, wanted.entries(), entries, former.egress()),
        wanted.selectors(),
        wanted.portNames(),
        wanted.requests());
  }
}
