package agent.reconcile;

import agent.bindings.Errno;
import agent.conductor.Work;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.agrona.MutableDirectBuffer;
import org.agrona.collections.LongArrayList;
import org.agrona.concurrent.NanoClock;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Brings maps to their desired tables: the long work of a conductor that never ends. TableChanges
 * are realized one after the other, each as a {@link Batch} or, in rounds, as several; a step
 * applies, writes or looks through a bounded number of entries. Once its tables and lists have
 * grown, it allocates nothing.
 *
 * <p>What a map refuses is named to the waiter and to the faults, and retried: before the next
 * change, and after a time that doubles from {@value #SHORTEST_RETRY_MS} ms. New entries behind a
 * refused one of the same change are held back, and keep their order; removals are not, since they
 * make room. A table may say otherwise ({@link Realization#mayOvertake}).
 */
public final class Reconciler implements Work {
  private static final Logger LOGGER = LogManager.getLogger(Reconciler.class);

  static final int CHANGES_PER_STEP = 256;
  static final int WRITES_PER_STEP = 64;
  static final int ROWS_PER_STEP = 4096;
  private static final int ROUNDS_PER_STEP = 16;

  /** A map that fits into one slice is read in two such parts. */
  private static final int READS_PER_STEP = 16;

  private static final int SHORTEST_RETRY_MS = 100;
  private static final long SHORTEST_RETRY_NS = TimeUnit.MILLISECONDS.toNanos(SHORTEST_RETRY_MS);
  private static final long LONGEST_RETRY_NS = TimeUnit.SECONDS.toNanos(10);

  /** The parts of a change, in this order. */
  private enum Phase {
    ADOPT,
    RETRY,
    APPLY,
    READ,
    REVIEW,
    ADD,
    RELIEVE,
    REMOVE,
    COMPARE;

    static final Phase[] ALL = values();
  }

  private final NanoClock clock;
  private final Tables tables;
  private final RefusedRows refused;
  private final Batch batch;

  /** The tables whose maps the next change adopts. */
  private final List<DesiredTable> unknown = new ArrayList<>();

  private final TouchedTables touched = new TouchedTables();
  private final StagedRows staged = new StagedRows();
  private final ChangeQueue requests = new ChangeQueue();
  private ChangeQueue.Request current;
  private Phase phase = Phase.ADOPT;
  private int table;
  private int rank;
  private int cursor;
  private boolean isBegun;
  private boolean isIncomplete;
  private boolean isRetrying;
  private boolean isStepping;
  private boolean isAhead;
  private RuntimeException closed;
  private int allowance;
  private RuntimeException failure;
  private long retryNs;
  private long nextRetryNs;

  /** Creates a reconciler without tables, whose refused rows are also in what others read. */
  public Reconciler(NanoClock clock, RefusedEntries entries) {
    this.clock = clock;
    tables = new Tables(entries);
    refused = new RefusedRows(tables);
    batch = new Batch(tables, refused);
  }

  /** Adds a table and returns it; the next change adopts what its map holds. */
  public DesiredTable add(DesiredTable added) {
    unknown.add(added);
    return addUnread(added);
  }

  /**
   * Adds a table and returns it. It is empty, and its map is compared with it once a change has
   * {@linkplain Batch#read read} it.
   */
  public DesiredTable addUnread(DesiredTable added) {
    tables.add(added);
    return added;
  }

  /** Removes a table, with what is still to be written; its map is not written any more. */
  public void remove(DesiredTable removed) {
    refused.removeAll(removed);
    unknown.remove(removed);
    tables.remove(removed);
  }

  /**
   * Adopts what the map of a table holds, at once and not in steps; each first change does so in
   * steps.
   */
  public void adopt(DesiredTable adopted) {
    if (!adopted.isAdopted()) {
      adopted.beginAdoption();
      while (!adopted.isAdopted()) {
        adopted.adoptBatch();
      }
    }
  }

  /** Realizes changes after those that were submitted before; the waiter learns when. */
  public void submit(TableChanges changes, Waiter waiter) {
    if (closed != null) {
      waiter.done(closed);
      return;
    }
    requests.add(changes, waiter);
  }

  /**
   * Submits changes and, where no others precede them, executes their first step at once: what is
   * small is in force when this returns. The command that calls this takes the next step's turn.
   */
  public void realize(TableChanges changes, Waiter waiter) {
    final boolean isFirst = isIdle() && !isStepping && closed == null;
    submit(changes, waiter);
    if (isFirst) {
      stepOnce();
      isAhead = true;
    }
  }

  /** Returns whether all changes that were submitted are in force, or refused. */
  public boolean isIdle() {
    return current == null && requests.isEmpty();
  }

  /** Returns whether all maps are known to hold what is desired, and nothing of a previous run. */
  public boolean isInForce() {
    return isIdle() && !isIncomplete && refused.isEmpty() && tables.haveNoRestored();
  }

  @Override
  public Progress step() {
    if (isAhead) {
      isAhead = false;
      return isIdle() ? Progress.WAITING : Progress.WORKED;
    }
    return stepOnce();
  }

  private Progress stepOnce() {
    isStepping = true;
    try {
      return stepChange();
    } finally {
      isStepping = false;
    }
  }

  private Progress stepChange() {
    allowance = CHANGES_PER_STEP;
    try {
      if (current == null && !beginNext()) {
        return retry() ? Progress.WORKED : Progress.WAITING;
      }
      while (current != null && stepPhase()) {
        nextPhase();
      }
      touched.endStep();
    } catch (RuntimeException unexpected) {
      LOGGER.error(
          "a change of maps was not completed; the next one is to complete it", unexpected);
      isIncomplete = true;
      nextRetryNs = clock.nanoTime() + LONGEST_RETRY_NS;
      if (current != null) {
        failure = failure == null ? unexpected : failure;
        end();
      }
    }
    return Progress.WORKED;
  }

  /** Returns the time until an entry is retried, or the longest one where none is. */
  public long pauseNs() {
    return refused.isEmpty() ? LONGEST_RETRY_NS : Math.max(0, nextRetryNs - clock.nanoTime());
  }

  @Override
  public void failed(RuntimeException cause) {
    closed = cause;
    if (current != null) {
      failure = cause;
      end();
    }
    while (!requests.isEmpty()) {
      requests.end(requests.poll()).done(cause);
    }
  }

  private boolean beginNext() {
    current = requests.poll();
    if (current == null) {
      return false;
    }
    tables.recycle();
    batch.begin(isIncomplete);
    isIncomplete = false;
    isRetrying = false;
    refused.beginRound();
    failure = null;
    begin(Phase.ADOPT);
    return true;
  }

  /** Begins the next round of a change: in this step, where it has room. */
  private void beginRound() {
    touched.endStep(); // generations are raised before the next round
    refused.endRound();
    refused.beginRound();
    batch.begin(false);
    begin(Phase.APPLY);
    allowance -= CHANGES_PER_STEP / ROUNDS_PER_STEP;
  }

  private void begin(Phase next) {
    phase = next;
    table = 0;
    rank = next == Phase.REMOVE ? tables.highestRank() : 0;
    cursor = 0;
    isBegun = false;
    if (next == Phase.RETRY) {
      refused.beginRetry();
    }
  }

  private void nextPhase() {
    if (phase == Phase.COMPARE) {
      if (current.changes().endRound(batch, failure)) {
        beginRound();
      } else {
        end();
      }
    } else {
      begin(Phase.ALL[phase.ordinal() + 1]);
    }
  }

  private void end() {
    final Waiter waiter = requests.end(current);
    current = null;
    refused.endRound();
    touched.endStep(); // generations are raised before the waiter goes on
    waiter.done(failure);
  }

  /**
   * Executes what the allowance of this step has room for; returns whether the phase is complete.
   */
  private boolean stepPhase() {
    return switch (phase) {
      case ADOPT -> adoptAll();
      case RETRY -> retryRefused();
      case APPLY -> applyChanges();
      case READ -> compare(batch.read(), true);
      case REVIEW -> look(batch.reviewed(), false);
      case ADD -> add();
      case RELIEVE -> look(batch.relieved(), true);
      case REMOVE -> remove();
      case COMPARE -> compare(batch.compared(), false);
    };
  }

  private boolean adoptAll() {
    for (; table < unknown.size(); table++) {
      final DesiredTable adopted = unknown.get(table);
      try {
        if (!isBegun && !adopted.isAdopted()) {
          adopted.beginAdoption();
          isBegun = true;
        }
        while (!adopted.isAdopted()) {
          if (allowance <= 0) {
            return false;
          }
          allowance -= adopted.adoptBatch();
        }
        batch.relieve(adopted); // all sources may have put their entries while it was unreadable
      } catch (RuntimeException unreadable) {
        failure = failure == null ? unreadable : failure;
      }
      isBegun = false;
    }
    unknown.removeIf(DesiredTable::isAdopted);
    return true;
  }

  private boolean applyChanges() {
    final int limit = allowance;
    final int before = batch.applied();
    allowance = 0;
    try {
      if (limit <= 0 || current.changes().apply(batch, limit)) {
        return false;
      }
    } catch (RuntimeException unexpected) {
      failure = failure == null ? unexpected : failure; // what was applied is realized
    }
    // a small change is realized in the step that applies it
    allowance = Math.min(limit - (batch.applied() - before), CHANGES_PER_STEP / 2);
    return true;
  }

  /** Looks tables through: for refined values that changed, or for entries to be given up. */
  private boolean look(BitSet numbers, boolean relieves) {
    for (table = numbers.nextSetBit(table); table >= 0; table = numbers.nextSetBit(table + 1)) {
      final DesiredTable looked = tables.get(table);
      if (looked != null && (!relieves || looked.isComplete() && looked.hasRestored())) {
        if (allowance <= 0) {
          return false;
        }
        allowance = 0;
        final int end = Math.min(looked.rows(), cursor + ROWS_PER_STEP);
        for (; cursor < end; cursor++) {
          if (looked.isUsed(cursor)) {
            look(looked, cursor, relieves);
          }
        }
        if (cursor < looked.rows()) {
          return false;
        }
      }
      cursor = 0;
    }
    return true;
  }

  private void look(DesiredTable looked, int row, boolean relieves) {
    if (relieves) {
      if (looked.drop(row) && !looked.isWanted(row)) {
        batch.removals().addLong(Tables.pack(table, row));
      }
    } else if (!looked.isRealized(row)) {
      batch.note(looked, row);
    }
  }

  private boolean add() {
    boolean isComplete = false;
    try {
      isComplete = addAllowed();
    } finally {
      writeStaged();
    }
    return isComplete && phase == Phase.ADD;
  }

  private boolean addAllowed() {
    for (; rank <= tables.highestRank(); rank++) {
      final LongArrayList additions = batch.additions(rank);
      for (; cursor < additions.size(); cursor++) {
        final long packed = additions.getLong(cursor);
        final DesiredTable added = tables.tableOf(packed);
        if (added != null) {
          if (allowance <= 0) {
            return false;
          }
          allowance--;
          add(added, Tables.rowOf(packed));
          if (phase == Phase.APPLY) {
            return false;
          }
        }
      }
      cursor = 0;
    }
    return true;
  }

  private void add(DesiredTable added, int row) {
    if (!staged.isOf(added) || staged.contains(row)) {
      writeStaged();
    }
    if (phase != Phase.ADD || !added.isUsed(row)) {
      return;
    }
    if (!added.isWanted(row)) { // it is removed below
      if (added.held(row) == null) {
        added.freeUnused(row);
      }
    } else if (!added.isSettled(row)) {
      final RuntimeException before = refused.before(added, row);
      if (before != null) {
        note(added, row, before);
      } else {
        allowance -= CHANGES_PER_STEP / WRITES_PER_STEP;
        if (staged.add(added, row)) {
          writeStaged();
        }
      }
    }
  }

  private void addAlone(DesiredTable added, int row) {
    final RuntimeException refusal = update(added, row);
    if (refusal != null && current.changes().replaces(refusal)) {
      begin(Phase.APPLY);
    } else if (refusal != null) {
      note(added, row, refusal);
    }
  }

  /** Writes the additions that wait to be written together; each alone from a refused one on. */
  private void writeStaged() {
    final DesiredTable written = staged.table();
    final int size = staged.size();
    staged.clear();
    int number = size > 0 ? written.map().updateStaged() : 0;
    if (number > 0) {
      touched.add(written);
      for (int i = 0; i < number; i++) {
        written.realized(staged.row(i));
      }
    }
    for (; number < size && phase == Phase.ADD; number++) {
      final int row = staged.row(number);
      final RuntimeException before = refused.before(written, row);
      if (before == null) {
        allowance += CHANGES_PER_STEP / WRITES_PER_STEP; // it was counted when it was staged
        addAlone(written, row);
      } else {
        note(written, row, before);
      }
    }
  }

  private void note(DesiredTable of, int row, RuntimeException refusal) {
    failure = failure == null ? refusal : failure;
    if (refused.isEmpty()) {
      retryNs = SHORTEST_RETRY_NS;
      nextRetryNs = clock.nanoTime() + retryNs;
    }
    refused.add(of, row, refusal);
  }

  /** Writes the desired value of a row; returns the refusal, or null. */
  private RuntimeException update(DesiredTable updated, int row) {
    allowance -= CHANGES_PER_STEP / WRITES_PER_STEP;
    final MutableDirectBuffer value = updated.wanted(row);
    final int result = updated.map().update(updated.key(row), value);
    if (result < 0) {
      updated.refused(row, -result);
      return updated.map().failure("update", updated.map().text(updated.key(row)), result);
    }
    touched.add(updated);
    updated.realized(row, value);
    return null;
  }

  private boolean remove() {
    final LongArrayList removals = batch.removals();
    for (; rank >= 0; rank--) {
      for (; cursor < removals.size(); cursor++) {
        final long packed = removals.getLong(cursor);
        final DesiredTable removed = tables.tableOf(packed);
        if (removed != null && removed.rank() == rank) {
          if (allowance <= 0) {
            return false;
          }
          allowance--;
          final int row = Tables.rowOf(packed);
          final boolean isHeld = !removed.isWanted(row) && removed.held(row) != null;
          final RuntimeException before = isHeld ? refused.before(removed, row) : null;
          final RuntimeException refusal = before == null ? remove(removed, row) : before;
          if (refusal != null) {
            note(removed, row, refusal);
          }
        }
      }
      cursor = 0;
    }
    return true;
  }

  /** Deletes the entry of a row that no source has; returns the refusal, or null. */
  private RuntimeException remove(DesiredTable removed, int row) {
    if (!removed.isUsed(row) || removed.isWanted(row)) {
      return null;
    }
    if (removed.held(row) != null) {
      allowance -= CHANGES_PER_STEP / WRITES_PER_STEP;
      removed.comparison().beforeDelete(removed.key(row));
      final int result = removed.map().delete(removed.key(row));
      if (result < 0 && result != -Errno.ENOENT) {
        removed.refused(row, -result);
        return removed.map().failure("delete", removed.map().text(removed.key(row)), result);
      }
      touched.add(removed);
      removed.realization().onWritten(removed.key(row), removed.held(row), null);
    }
    removed.deleted(row);
    removed.freeUnused(row);
    return null;
  }

  /** Compares maps with their tables and repairs them, or reads them. */
  private boolean compare(BitSet numbers, boolean reads) {
    for (table = numbers.nextSetBit(table); table >= 0; table = numbers.nextSetBit(table + 1)) {
      final DesiredTable compared = tables.get(table);
      if (compared != null) {
        final TableComparison comparison = compared.comparison();
        if (!isBegun) {
          isBegun = true;
          if (reads) {
            comparison.beginReading();
          } else {
            comparison.begin(false);
          }
        }
        while (comparison.isRunning()) {
          if (allowance <= 0) {
            return false;
          }
          final boolean isLong = comparison.step() || !reads;
          allowance = isLong ? 0 : allowance - CHANGES_PER_STEP / READS_PER_STEP;
        }
        failure = failure == null ? comparison.failure() : failure;
        if (reads && comparison.failure() == null) {
          compared.adopted();
        } else if (comparison.repaired() > 0) {
          LOGGER.info("map {}: {}", compared.map().name(), comparison.found());
          compared.realization().onRepaired();
        }
      }
      isBegun = false;
    }
    return true;
  }

  /** Retries what is due where there is no change to realize; returns whether anything was. */
  private boolean retry() {
    if (!isRetrying && (refused.isEmpty() || nextRetryNs - clock.nanoTime() > 0)) {
      return false;
    }
    if (!isRetrying) {
      isRetrying = true;
      refused.beginRetry();
    }
    if (retryRefused()) {
      isRetrying = false;
      if (!refused.isEmpty()) {
        retryNs = Math.min(LONGEST_RETRY_NS, 2 * retryNs);
        nextRetryNs = clock.nanoTime() + retryNs;
      }
    }
    touched.endStep();
    return true;
  }

  /** Writes the refused entries of each table in their order until one is refused again. */
  private boolean retryRefused() {
    while (refused.advance()) {
      if (allowance <= 0) {
        return false;
      }
      allowance--;
      final RuntimeException refusal = retry(refused.table(), refused.row());
      if (refusal == null) {
        refused.remove();
      } else {
        refused.again(refusal);
      }
    }
    return true;
  }

  private RuntimeException retry(DesiredTable retried, int row) {
    if (!retried.isWanted(row)) {
      return remove(retried, row);
    }
    return retried.isSettled(row) ? null : update(retried, row);
  }
}
