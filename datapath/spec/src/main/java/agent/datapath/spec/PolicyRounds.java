package agent.datapath.spec;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * The two parts of a {@link PolicyDelta}, and what they do.
 *
 * @param closing from the old entries to those that allow what both policies allow
 * @param opening from these to the new entries
 * @param closes directions in which less may be allowed than before, as bits by their numbers
 * @param opens directions in which more may be allowed than before
 * @param isTorn whether an old entry of an identity and a new one of any identity, or the reverse,
 *     may allow together what neither policy allows
 * @param growth by how many entries the map is larger than before meanwhile, at most
 */
record PolicyRounds(
    PolicyDelta closing, PolicyDelta opening, int closes, int opens, boolean isTorn, int growth) {
  /** Larger than any map has room for. */
  static final int UNBOUNDED = Integer.MAX_VALUE;

  private static final int BOTH_DIRECTIONS = 3;

  /**
   * Returns the parts between which the map allows nothing, and has only denies that stay: it never
   * holds more entries than before or after.
   */
  static PolicyRounds throughClosed(Collection<PolicyEntry> before, Collection<PolicyEntry> after) {
    final Set<PolicyEntry> kept = new HashSet<>();
    for (final PolicyEntry entry : after) {
      if (entry.isDeny()) {
        kept.add(entry);
      }
    }
    kept.retainAll(before instanceof Set ? before : new HashSet<>(before));
    final List<PolicyEntry> deletes = new ArrayList<>(before);
    deletes.removeAll(kept);
    final List<PolicyEntry> upserts = new ArrayList<>(after);
    upserts.removeAll(kept);
    return new PolicyRounds(
        new PolicyDelta(List.of(), deletes),
        new PolicyDelta(upserts, List.of()),
        BOTH_DIRECTIONS,
        BOTH_DIRECTIONS,
        true,
        0);
  }
}
