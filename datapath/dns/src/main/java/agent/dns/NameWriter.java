package agent.dns;

import agent.types.OperationException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Stores the lookups of a cache: new addresses at once, by appending those of one call together;
 * what only stays longer or goes later, and on a thread of its own, since all lookups are written
 * then. The same thread waits for the disk. Used by the thread of the names.
 */
final class NameWriter implements AutoCloseable {
  private static final Logger LOGGER = LogManager.getLogger(NameWriter.class);

  /** A restart gives so much time to an address whose longer time may not be stored. */
  static final Duration DELAY = Duration.ofSeconds(30);

  private static final long RETRY_MS = 1_000;
  private static final long SOON_MS = 100;

  /** The disk is waited for so often at most: a wait costs as much as many lookups. */
  private static final long SYNC_PAUSE_MS = 100;

  /** So many lookups are appended before all of them are stored anew. */
  private static final int LEAST_APPENDED = 5_000;

  private final NameStore store;
  private final NameCache cache;
  private final Executor owner;
  private final LongSupplier clockMs;
  private final ExecutorService background =
      Executors.newSingleThreadExecutor(
          work -> Thread.ofPlatform().daemon().name("names-store").unstarted(work));
  private final List<NameLookup> unsaved = new ArrayList<>();
  private boolean isOutdated;
  private boolean isFailing;
  private boolean isUnsynced;
  private boolean isSyncing;
  private boolean isCompacting;
  private int appended;
  private long dueMs;
  private long nextSyncMs;

  /**
   * Creates a writer of a cache that is stored.
   *
   * @param owner runs work on the thread that uses this
   * @param clockMs a clock that does not go back
   */
  NameWriter(NameStore store, NameCache cache, Executor owner, LongSupplier clockMs) {
    this.store = store;
    this.cache = cache;
    this.owner = owner;
    this.clockMs = clockMs;
    nextSyncMs = clockMs.getAsLong();
  }

  /** Makes a lookup with new addresses stored by the next {@link #write}. */
  void add(NameLookup lookup) {
    unsaved.add(lookup);
  }

  /** Stores all lookups in {@link #DELAY}. */
  void changed() {
    changed(DELAY.toMillis() / 2);
  }

  /** Stores all lookups soon: what is gone must not come back with the next run. */
  void changedSoon() {
    changed(SOON_MS);
  }

  /** Stores all lookups at once. */
  void changedNow() {
    changed(0);
  }

  private void changed(long delayMs) {
    final long atMs = clockMs.getAsLong() + delayMs;
    if (!isOutdated || atMs - dueMs < 0 && !isFailing) {
      dueMs = atMs;
    }
    isOutdated = true;
  }

  /**
   * Stores what is due; returns whether every address is stored, so that a run after this one knows
   * it, whether it is on the disk yet or not ({@link #sync}).
   */
  boolean write() {
    final boolean isDue = isOutdated && clockMs.getAsLong() - dueMs >= 0;
    try {
      if (isFailing) {
        if (isDue) {
          replace();
        }
        return !isFailing;
      }
      if (!unsaved.isEmpty()) {
        store.append(List.copyOf(unsaved));
        appended += unsaved.size();
        unsaved.clear();
        isUnsynced = true;
      }
    } catch (OperationException failure) {
      failed(failure);
      return false;
    }
    if ((isDue || appended > Math.max(LEAST_APPENDED, cache.size())) && !isCompacting) {
      compact();
    }
    return true;
  }

  /**
   * Syncs everything that was appended to the disk, on another thread, unless that was done a
   * moment ago: the next call does it then. No caller waits for it: a process that is killed loses
   * nothing that is appended, and after a crash of the node its workloads look up their names
   * again.
   */
  void sync() {
    final long nowMs = clockMs.getAsLong();
    if (isUnsynced && !isSyncing && nowMs - nextSyncMs >= 0) {
      isUnsynced = false;
      isSyncing = true;
      nextSyncMs = nowMs + SYNC_PAUSE_MS;
      CompletableFuture.runAsync(store::sync, background)
          .whenComplete((done, failure) -> owner.execute(() -> onSynced(failure)));
    }
  }

  private void onSynced(Throwable failure) {
    isSyncing = false;
    if (failure != null) {
      failed(failure.getCause());
    }
  }

  /**
   * Stores all lookups now.
   *
   * @throws OperationException where that failed; what was stored is as it was
   */
  void replace() {
    store.save(cache.list());
    unsaved.clear();
    isUnsynced = false;
    appended = 0;
    isFailing = false;
    isOutdated = false;
  }

  private void failed(Throwable failure) {
    if (!isFailing) {
      LOGGER.warn("names: storing new addresses failed, they wait: {}", failure.getMessage());
    }
    isFailing = true;
    isOutdated = true;
    dueMs = clockMs.getAsLong() + RETRY_MS;
  }

  private void compact() {
    isCompacting = true;
    isOutdated = false;
    appended = 0;
    CompletableFuture.runAsync(() -> store.compact(cache::list), background)
        .whenComplete((done, failure) -> owner.execute(() -> onCompacted(failure)));
  }

  private void onCompacted(Throwable failure) {
    isCompacting = false;
    if (failure != null) {
      LOGGER.warn("names: storing renewed addresses failed: {}", failure.getMessage());
      changed(RETRY_MS);
    }
  }

  /** Stores what is not stored yet, and ends the thread. */
  @Override
  public void close() {
    try {
      if (isOutdated || isCompacting || !unsaved.isEmpty()) {
        replace();
      }
      if (isUnsynced || isSyncing) {
        store.sync();
      }
    } catch (OperationException failure) {
      LOGGER.warn("names: {}", failure.getMessage());
    }
    background.shutdown();
    try {
      background.awaitTermination(RETRY_MS, TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
