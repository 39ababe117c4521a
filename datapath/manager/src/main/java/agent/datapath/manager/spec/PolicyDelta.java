package agent.datapath.manager.spec;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * The change of one endpoint's policy map. The conductor inserts denies, inserts allows, deletes
 * allows, and deletes denies, in this order, so that no intermediate state allows a packet that
 * neither the old nor the new policy allows.
 *
 * @param upserts entries to insert, or whose verdict changes
 * @param deletes entries to remove; only their keys are used
 */
public record PolicyDelta(List<PolicyEntry> upserts, List<PolicyEntry> deletes) {
  /** No change. */
  public static final PolicyDelta NONE = new PolicyDelta(List.of(), List.of());

  /** Copies the lists. */
  public PolicyDelta {
    upserts = List.copyOf(upserts);
    deletes = List.copyOf(deletes);
  }

  /**
   * Returns the change from one content of a map to another.
   *
   * @param before the present entries
   * @param after the desired entries
   * @return the change, without the entries that are equal in both
   */
  public static PolicyDelta between(Collection<PolicyEntry> before, Collection<PolicyEntry> after) {
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
    return new PolicyDelta(upserts, deletes);
  }

  /** Returns whether the change is empty. */
  public boolean isEmpty() {
    return upserts.isEmpty() && deletes.isEmpty();
  }
}
