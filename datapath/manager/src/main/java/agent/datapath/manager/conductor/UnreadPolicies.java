package agent.datapath.manager.conductor;

import agent.datapath.spec.PolicyMapProxy.PolicyChange;
import agent.reconcile.Batch;
import agent.reconcile.DesiredTable;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * The policy maps of the former run that a change is for, whose entries are not known yet: they are
 * read first, and what they hold stays desired, so that the change is one of that.
 */
final class UnreadPolicies {
  private final List<DesiredTable> tables = new ArrayList<>();
  private final Set<DesiredTable> distinct = new HashSet<>();
  private int table;
  private int row;

  private UnreadPolicies() {}

  /** Reads the maps of changes, in this round, that are not known; null where there is none. */
  static UnreadPolicies read(Batch batch, PolicyMaps maps, List<PolicyChange> changes) {
    UnreadPolicies unread = null;
    for (int i = 0; i < changes.size(); i++) {
      final SharedPolicy policy = maps.find(changes.get(i).endpointId());
      if (policy != null && !policy.table().isAdopted()) {
        unread = unread == null ? new UnreadPolicies() : unread;
        unread.read(batch, policy.table());
      }
    }
    return unread;
  }

  private void read(Batch batch, DesiredTable read) {
    if (distinct.add(read)) { // endpoints may share a map
      tables.add(read);
      batch.read(read);
    }
  }

  /** Makes further entries desired, at most so many; returns whether there are more. */
  boolean keep(int limit) {
    int left = limit * PolicySynchronization.ROWS_PER_CHANGE;
    while (table < tables.size()) {
      final DesiredTable kept = tables.get(table);
      for (; row < kept.rows(); row++) {
        if (left-- == 0) {
          return true;
        }
        kept.desireHeld(row);
      }
      row = 0;
      table++;
    }
    return false;
  }
}
