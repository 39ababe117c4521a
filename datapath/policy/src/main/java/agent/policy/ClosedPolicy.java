package agent.policy;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * What is enforced where a policy does not fit into the map: it allows nothing that the policy does
 * not allow, and forbids all that the policy forbids. Of what is allowed, only what was allowed
 * before stays, as far as there is room; what is allowed to any peer first.
 *
 * @param kept what of the former entries stays
 * @param whole the same, and what is forbidden now
 */
record ClosedPolicy(ResolvedPolicy kept, ResolvedPolicy whole) {
  private static final int ANY_IDENTITY = 0;

  /**
   * Closes a policy.
   *
   * @param former what the map holds
   * @param wanted what it cannot hold
   * @param capacity how many entries it holds
   */
  static ClosedPolicy of(ResolvedPolicy former, ResolvedPolicy wanted, int capacity) {
    final Set<PolicyEntry> before = new HashSet<>(former.entries());
    final List<PolicyEntry> whole = new ArrayList<>();
    for (final PolicyEntry entry : wanted.entries()) {
      if (entry.deny()) {
        whole.add(entry);
      }
    }
    if (whole.size() > capacity) {
      // Without an entry nothing passes.
      whole.clear();
    } else {
      wanted.entries().stream()
          .filter(entry -> !entry.deny() && before.contains(entry))
          .sorted(Comparator.comparing(entry -> entry.identity() != ANY_IDENTITY))
          .limit(capacity - whole.size())
          .forEach(whole::add);
    }
    final List<PolicyEntry> kept = whole.stream().filter(before::contains).toList();
    return new ClosedPolicy(with(former, wanted, kept), with(former, wanted, whole));
  }

  /** It is not the policy of the new revision. */
  private static ResolvedPolicy with(
      ResolvedPolicy former, ResolvedPolicy wanted, List<PolicyEntry> entries) {
    return new ResolvedPolicy(
        former.revision(),
        wanted.identity(),
        VerdictTable.sorted(entries),
        wanted.ingress(),
        wanted.egress(),
        wanted.selectors());
  }
}
