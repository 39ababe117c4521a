package agent.policy.reference;

import agent.types.Prefix;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Changes of the identities of prefixes outside.
 *
 * @param added prefixes with the identities that they have from now on
 * @param removed prefixes that have none any more
 * @param newIdentities the identities that no prefix had before
 */
public record OutsideChanges(
    Map<Prefix, Integer> added, List<Prefix> removed, Set<Integer> newIdentities) {
  /** Returns whether nothing has changed. */
  public boolean isEmpty() {
    return added.isEmpty() && removed.isEmpty();
  }

  /** Returns these changes followed by others; the new identities are those of the first. */
  public OutsideChanges then(OutsideChanges next) {
    final Map<Prefix, Integer> bothAdded = new LinkedHashMap<>(added);
    bothAdded.putAll(next.added);
    final List<Prefix> bothRemoved = new ArrayList<>(removed);
    bothRemoved.addAll(next.removed);
    return new OutsideChanges(bothAdded, bothRemoved, newIdentities);
  }
}
