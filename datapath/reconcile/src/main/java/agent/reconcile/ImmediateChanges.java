package agent.reconcile;

import org.agrona.DirectBuffer;
import org.agrona.ExpandableArrayBuffer;

/**
 * Changes of tables of one source and few entries, each realized in the call that makes it: the
 * caller goes on with what is in force. A refusal ends the call; what stays desired is retried by
 * the steps of the reconciler. For the reconciler's thread, and before it is started.
 */
public final class ImmediateChanges {
  private static final int SOURCE = 0;
  private static final int OWNER = 0;

  private final Reconciler reconciler;
  private final Attempt attempt = new Attempt();
  private final Waiter waiter = this::done;
  private boolean isDone;
  private RuntimeException failure;

  /**
   * Creates the changes of tables that are still to be added.
   *
   * @param reconciler one that gets no other changes: none is before one of these
   */
  public ImmediateChanges(Reconciler reconciler) {
    this.reconciler = reconciler;
  }

  /** Adds a table and returns it; the next change adopts what its map holds. */
  public DesiredTable add(TargetMap map, int rank, Realization realization, MapFaults faults) {
    return reconciler.add(new DesiredTable(map, 1, rank, realization, faults));
  }

  /** Adopts what the map of a table holds, unless a change has done so. */
  public void adopt(DesiredTable table) {
    reconciler.adopt(table);
  }

  /**
   * Puts an entry, which stays desired where the map refuses it.
   *
   * @throws RuntimeException the refusal
   */
  public void put(DesiredTable table, DirectBuffer key, DirectBuffer value) {
    realize(
        (batch, limit) -> {
          batch.put(table, SOURCE, OWNER, key, value);
          return false;
        });
  }

  /**
   * Puts an entry; where the map refuses it, what was desired before is desired again.
   *
   * @throws RuntimeException the refusal
   */
  public void tryPut(DesiredTable table, DirectBuffer key, DirectBuffer value) {
    attempt.begin(table, key, value);
    realize(attempt);
    if (attempt.refusal != null) {
      throw attempt.refusal;
    }
  }

  /**
   * Removes an entry.
   *
   * @throws RuntimeException the refusal
   */
  public void remove(DesiredTable table, DirectBuffer key) {
    realize(
        (batch, limit) -> {
          batch.remove(table, SOURCE, OWNER, key);
          return false;
        });
  }

  /**
   * Removes the entries of a previous run that this one has not put.
   *
   * @throws RuntimeException the first refusal
   */
  public void removeOthers(DesiredTable table) {
    realize(
        (batch, limit) -> {
          batch.complete(table, SOURCE);
          return false;
        });
  }

  /**
   * Writes the entries whose refined value has changed.
   *
   * @throws RuntimeException the first refusal
   */
  public void review(DesiredTable table) {
    realize(
        (batch, limit) -> {
          batch.review(table);
          return false;
        });
  }

  private void realize(TableChanges changes) {
    isDone = false;
    reconciler.submit(changes, waiter);
    while (!isDone) {
      reconciler.step();
    }
    if (failure != null) {
      throw failure;
    }
  }

  private void done(RuntimeException refusal) {
    isDone = true;
    failure = refusal;
  }

  /** An entry in the place of another one, which comes back where the map refuses it. */
  private static final class Attempt implements TableChanges {
    final ExpandableArrayBuffer before = new ExpandableArrayBuffer();
    DesiredTable table;
    DirectBuffer key;
    DirectBuffer value;
    private boolean hasBefore;
    RuntimeException refusal;

    void begin(DesiredTable changed, DirectBuffer changedKey, DirectBuffer changedValue) {
      table = changed;
      key = changedKey;
      value = changedValue;
      refusal = null;
    }

    @Override
    public boolean apply(Batch batch, int limit) {
      if (refusal == null) {
        final int row = table.find(key);
        final DirectBuffer present = row < 0 ? null : table.unrefined(row);
        hasBefore = present != null;
        if (hasBefore) {
          before.putBytes(0, present, 0, table.map().valueBytes());
        }
        batch.put(table, SOURCE, OWNER, key, value);
      } else if (hasBefore) {
        batch.put(table, SOURCE, OWNER, key, before);
      } else {
        batch.remove(table, SOURCE, OWNER, key);
      }
      return false;
    }

    @Override
    public boolean replaces(RuntimeException cause) {
      if (refusal != null) {
        return false;
      }
      refusal = cause;
      return true;
    }
  }
}
