package agent.datapath.manager.conductor;

import agent.datapath.spec.PolicyDelta;
import agent.datapath.spec.PolicyEntry;
import agent.reconcile.Batch;
import agent.reconcile.DesiredTable;
import agent.reconcile.TableChanges;
import agent.reconcile.Waiter;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.agrona.MutableDirectBuffer;
import org.agrona.collections.IntArrayList;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Assigns an endpoint a policy map with the desired entries: reads the map of the endpoint, and
 * changes it by the difference in two parts; or gives the endpoint another map, where that has the
 * entries, or where others use its own. Entries whose keys no policy has are deleted, which another
 * program has written.
 */
final class PolicySynchronization implements TableChanges, Waiter {
  private static final Logger LOGGER = LogManager.getLogger(PolicySynchronization.class);

  /** So many rows that are looked at count as one change. */
  static final int ROWS_PER_CHANGE = 16;

  private enum Stage {
    FIND,
    LOOK,
    ALIGN,
    CLOSE,
    OPEN,
    FILL,
    DONE
  }

  private final PolicyMaps maps;
  private final int id;
  private final int identity;
  private final List<PolicyEntry> desired;
  private final CompletableFuture<PolicyDelta> result;
  private final PolicyEntryCodec codec = new PolicyEntryCodec();
  private final PolicyParts parts = new PolicyParts();
  private final List<PolicyEntry> before = new ArrayList<>();
  private final IntArrayList foreign = new IntArrayList();
  private Stage stage = Stage.FIND;
  private SharedPolicy policy;
  private boolean isNew;
  private boolean isEqual;
  private boolean wasRead;
  private int row;
  private boolean isSplit;
  private boolean isComplete;
  private PolicyDelta difference = PolicyDelta.NONE;
  private RuntimeException refusal;

  PolicySynchronization(
      PolicyMaps maps,
      int id,
      int identity,
      List<PolicyEntry> desired,
      CompletableFuture<PolicyDelta> result) {
    this.maps = maps;
    this.id = id;
    this.identity = identity;
    this.desired = desired;
    this.result = result;
  }

  @Override
  public boolean apply(Batch batch, int limit) {
    try {
      return advance(batch, limit);
    } catch (RuntimeException unexpected) {
      refusal = unexpected;
      return false;
    }
  }

  private boolean advance(Batch batch, int limit) {
    switch (stage) {
      case FIND -> find(batch);
      case LOOK -> {
        if (!look(limit)) {
          decide(batch);
          if (stage == Stage.ALIGN && !align(limit)) {
            change(batch);
          }
          parts.put(batch, limit);
        }
        return stage == Stage.LOOK || stage == Stage.ALIGN || !parts.isDone();
      }
      case ALIGN -> {
        if (!align(limit)) {
          change(batch);
        }
        return stage == Stage.ALIGN || !parts.isDone();
      }
      default -> {
        parts.put(batch, limit);
        return !parts.isDone();
      }
    }
    return false;
  }

  private void find(Batch batch) {
    final SharedPolicy present = maps.find(id);
    final SharedPolicy equal = maps.equalTo(present, identity, desired);
    if (equal != null && equal != present) {
      maps.move(id, equal);
      stage = Stage.DONE;
      return;
    }
    isNew = present == null;
    isEqual = equal != null;
    policy = isNew ? maps.openNew(id) : present;
    policy.begin();
    wasRead = policy.table().isAdopted();
    batch.read(policy.table());
  }

  private int lastRow(int limit) {
    return Math.min(policy.table().rows(), row + limit * ROWS_PER_CHANGE);
  }

  /** Looks at what the map holds; returns whether there is more. */
  private boolean look(int limit) {
    final DesiredTable table = policy.table();
    for (final int end = lastRow(limit); row < end; row++) {
      final MutableDirectBuffer held = table.held(row);
      if (held != null) {
        final PolicyEntry entry = codec.decode(table.key(row), held);
        if (entry == null) {
          foreign.addInt(row);
        } else {
          before.add(entry);
        }
      }
    }
    return row < table.rows();
  }

  private void decide(Batch batch) {
    row = 0;
    difference = maps.difference(policy, before, desired);
    isSplit = !difference.isEmpty() && !isEqual && policy.size() > 1;
    stage = Stage.ALIGN;
    if (isSplit && wasRead) {
      batch.review(policy.table()); // what differs from the entries that others use is repaired
      change(batch);
    }
  }

  /** Makes what the map holds its desired entries; returns whether there is more. */
  private boolean align(int limit) {
    for (final int end = lastRow(limit); row < end; row++) {
      policy.table().desireHeld(row);
    }
    return row < policy.table().rows();
  }

  private void change(Batch batch) {
    if (isSplit) {
      policy.end(false);
      policy = maps.create(id);
      policy.begin();
      batch.read(policy.table());
      parts.begin(policy.table(), desired, List.of());
      stage = Stage.FILL;
      return;
    }
    maps.putIntoSlot(policy);
    for (int i = 0; i < foreign.size(); i++) {
      final MutableDirectBuffer key = policy.table().key(foreign.getInt(i));
      LOGGER.warn("map {}: {}; deleted", policy.map().name(), codec.foreign(key));
      batch.remove(policy.table(), 0, 0, key);
    }
    if (isNew) { // no packet asks a map that no endpoint had: it needs no parts
      parts.begin(policy.table(), difference);
      stage = Stage.OPEN;
    } else if (difference.closing().isEmpty()) {
      parts.begin(policy.table(), difference.opening());
      stage = Stage.OPEN;
    } else {
      parts.begin(policy.table(), difference.closing());
      stage = Stage.CLOSE;
    }
  }

  @Override
  public boolean endRound(Batch batch, RuntimeException failure) {
    if (refusal == null && stage != Stage.DONE) {
      refusal = batch.refusal(policy.table());
    }
    if (refusal != null) {
      return false;
    }
    switch (stage) {
      case FIND -> stage = Stage.LOOK;
      case CLOSE -> {
        if (difference.isTorn() && !difference.opening().isEmpty()) {
          maps.awaitPrograms(policy);
        }
        parts.begin(policy.table(), difference.opening());
        stage = Stage.OPEN;
      }
      default -> isComplete = true;
    }
    return !isComplete;
  }

  @Override
  public void done(RuntimeException failure) {
    RuntimeException cause = isComplete ? null : refusal == null ? failure : refusal;
    if (policy != null) {
      try {
        end(cause);
      } catch (RuntimeException notMoved) {
        cause = cause == null ? notMoved : cause;
      }
    }
    if (cause == null) {
      result.complete(difference);
    } else {
      result.completeExceptionally(DatapathFailures.refusal(cause));
    }
  }

  private void end(RuntimeException cause) {
    final boolean isFilled = stage == Stage.FILL;
    policy.end(!isFilled && !difference.isEmpty());
    if (cause == null) {
      policy.known(identity);
    } else {
      policy.uncertain();
    }
    if (isFilled && cause == null) {
      maps.moveOrRelease(id, policy);
    } else {
      maps.releaseUnused(policy);
    }
  }
}
