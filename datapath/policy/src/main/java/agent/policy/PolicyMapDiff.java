package agent.policy;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * What changes in one policy map: nothing else is touched.
 *
 * @param upserts entries that are new, or whose verdict is another one
 * @param deletes entries whose key is gone
 */
public record PolicyMapDiff(List<PolicyEntry> upserts, List<PolicyEntry> deletes) {
  /** No change. */
  public static final PolicyMapDiff NONE = new PolicyMapDiff(List.of(), List.of());

  /** Copies the lists. */
  public PolicyMapDiff {
    upserts = List.copyOf(upserts);
    deletes = List.copyOf(deletes);
  }

  /**
   * The way from one map to another.
   *
   * @param before what the map holds
   * @param after what it shall hold
   * @return the difference
   */
  public static PolicyMapDiff between(
      Collection<PolicyEntry> before, Collection<PolicyEntry> after) {
    final Set<PolicyEntry> known = new HashSet<>(before);
    final Set<PolicyEntry.Key> wanted = new HashSet<>();
    final List<PolicyEntry> upserts = new ArrayList<>();
    for (final PolicyEntry entry : after) {
      wanted.add(entry.key());
      if (!known.contains(entry)) {
        upserts.add(entry);
      }
    }
    final List<PolicyEntry> deletes = new ArrayList<>();
    for (final PolicyEntry entry : before) {
      if (!wanted.contains(entry.key())) {
        deletes.add(entry);
      }
    }
    return new PolicyMapDiff(upserts, deletes);
  }

  /** Whether nothing changes. */
  public boolean isEmpty() {
    return upserts.isEmpty() && deletes.isEmpty();
  }
}
