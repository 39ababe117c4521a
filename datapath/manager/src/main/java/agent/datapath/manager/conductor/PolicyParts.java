package agent.datapath.manager.conductor;

import agent.datapath.spec.PolicyDelta;
import agent.datapath.spec.PolicyEntry;
import agent.reconcile.Batch;
import agent.reconcile.DesiredTable;
import java.util.List;

/**
 * Puts one part of a change into the desired entries of a policy map, in slices and in this order:
 * denies, allows, redirects, then the removals of allows and of denies. So what is allowed before
 * and after goes through no proxy meanwhile. Reused; for the conductor's thread.
 */
final class PolicyParts {
  /** So many entries that are looked at count as one that is put. */
  private static final int LOOKS = 16;

  private enum Pass {
    DENIES,
    ALLOWS,
    REDIRECTS,
    REMOVED_ALLOWS,
    REMOVED_DENIES,
    DONE;

    static final Pass[] ALL = values();

    boolean has(PolicyEntry entry) {
      return switch (this) {
        case DENIES, REMOVED_DENIES -> entry.isDeny();
        case ALLOWS -> !entry.isDeny() && !entry.verdict().isRedirect();
        case REDIRECTS -> entry.verdict().isRedirect();
        case REMOVED_ALLOWS -> !entry.isDeny();
        case DONE -> false;
      };
    }
  }

  private final PolicyEntryCodec codec = new PolicyEntryCodec();
  private DesiredTable copied;
  private int copiedRow;
  private DesiredTable table;
  private List<PolicyEntry> upserts;
  private List<PolicyEntry> deletes;
  private Pass pass = Pass.DONE;
  private int next;

  /** Begins to put all entries of a change, regardless of its parts. */
  void begin(DesiredTable into, PolicyDelta delta) {
    begin(into, delta.upserts(), delta.deletes());
  }

  /** Begins to put entries, and to remove others. */
  void begin(DesiredTable into, List<PolicyEntry> toPut, List<PolicyEntry> toRemove) {
    table = into;
    upserts = toPut;
    deletes = toRemove;
    pass = Pass.DENIES;
    next = 0;
  }

  /** Begins to put the desired entries of another table, and then those of a change. */
  void begin(DesiredTable into, DesiredTable from, PolicyDelta delta) {
    begin(into, delta);
    copied = from;
    copiedRow = 0;
  }

  /** Drops what is not put yet. */
  void clear() {
    pass = Pass.DONE;
    copied = null;
  }

  /** Returns whether everything is put. */
  boolean isDone() {
    return pass == Pass.DONE;
  }

  /** Puts further entries, at most so many; returns how many of them that counts as. */
  int put(Batch batch, int limit) {
    int put = 0;
    int looks = 0;
    while (!isDone() && put < limit && looks < LOOKS * limit) {
      looks++;
      if (copied != null) {
        put += copy(batch);
      } else {
        put += putNext(batch);
      }
    }
    return Math.max(put, (looks + LOOKS - 1) / LOOKS);
  }

  private int copy(Batch batch) {
    if (copiedRow == copied.rows()) {
      copied = null;
      return 0;
    }
    final int row = copiedRow++;
    if (copied.wanted(row) == null) {
      return 0;
    }
    batch.put(table, 0, 0, copied.key(row), copied.wanted(row));
    return 1;
  }

  private int putNext(Batch batch) {
    final boolean isRemoval = pass.compareTo(Pass.REDIRECTS) > 0;
    final List<PolicyEntry> entries = isRemoval ? deletes : upserts;
    if (next == entries.size()) {
      pass = Pass.ALL[pass.ordinal() + 1];
      next = 0;
      return 0;
    }
    final PolicyEntry entry = entries.get(next++);
    if (!pass.has(entry)) {
      return 0;
    }
    codec.encode(entry);
    if (isRemoval) {
      batch.remove(table, 0, 0, codec.key());
    } else {
      batch.put(table, 0, 0, codec.key(), codec.value());
    }
    return 1;
  }
}
