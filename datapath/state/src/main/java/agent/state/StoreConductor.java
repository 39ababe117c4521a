package agent.state;

import agent.conductor.ConductorAgent;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.agrona.concurrent.NanoClock;

/**
 * Owns the disk: makes all changes of the state that wait at a time durable together ({@link
 * FileGroup}), in the order in which they came, and answers each afterwards. While it waits for the
 * disk, the next ones gather. A second change of a file, and a second change of one write, follow a
 * commit of those before them.
 *
 * <p>Before its thread has started, and for what follows its end, each change is made alone, on the
 * thread of its caller.
 */
public final class StoreConductor extends ConductorAgent implements FileChanges {
  /** Most writes that are committed together: each has descriptors open until then. */
  static final int MOST_TOGETHER = 32;

  /** How long a group waits at most for as many writes as there were the last time. */
  static final long GATHERING_NS = 1_000_000;

  /** The same for a group of writes that have a file together, each of which saves one. */
  static final long TOGETHER_NS = 5_000_000;

  private static final int SYNC_THREADS = 8;
  private static final long SYNC_IDLE_SEC = 5;

  private final NanoClock clock;
  private final Queue<Write> waiting = new ConcurrentLinkedQueue<>();
  private final AtomicInteger arrived = new AtomicInteger(); // those in the queue
  private final AtomicInteger hurried =
      new AtomicInteger(); // of them, those without a file together
  private final FileGroup group;
  private final List<Write> uncommitted = new ArrayList<>();
  private Write current;
  private volatile int expected = 1;
  private volatile boolean isGathering;
  private long gatheringSinceNs;
  private volatile Thread thread;
  private volatile boolean isEnded;

  /** Work that changes files, and the changes that it has asked for. */
  private static final class Write {
    private final Runnable work;
    private final CompletableFuture<Void> durable = new CompletableFuture<>();
    private final List<FileChange> changes = new ArrayList<>();

    /** Whether the caller waits for the result and ends the change itself. */
    private final boolean isAwaited;

    /** Whether it has a file together with others that wait. */
    private final boolean isTogether;

    private RuntimeException failure;

    Write(Runnable work, boolean isAwaited, boolean isTogether) {
      this.work = work;
      this.isAwaited = isAwaited;
      this.isTogether = isTogether;
    }

    void finish() {
      if (failure == null && !isAwaited) {
        try {
          changes.forEach(FileChange::finish);
        } catch (RuntimeException refused) {
          failure = refused;
        }
      }
      if (failure == null) {
        durable.complete(null);
      } else {
        durable.completeExceptionally(failure);
      }
    }

    boolean hasAfterwards() {
      return changes.stream().anyMatch(FileChange::hasAfterwards);
    }
  }

  /**
   * Creates the owner without starting its thread.
   *
   * @param clock measures how long a group gathers
   * @param syncing runs the syncs of a group, several at the same time; this waits for them
   */
  StoreConductor(NanoClock clock, Executor syncing) {
    super("store", clock);
    this.clock = clock;
    group = new FileGroup(syncing);
  }

  /** Returns threads that wait for the disk; they end when they have had nothing to do. */
  static Executor syncThreads() {
    final ThreadPoolExecutor threads =
        new ThreadPoolExecutor(
            SYNC_THREADS,
            SYNC_THREADS,
            SYNC_IDLE_SEC,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(),
            Thread.ofPlatform().name("store-sync-", 1).daemon().factory());
    threads.allowCoreThreadTimeOut(true);
    return threads;
  }

  /**
   * Runs a write of a store on the thread of the disk, together with others that wait; for any
   * thread.
   *
   * @param write calls one store of {@link AgentState}; what it changes is not durable before the
   *     future completes
   * @return completes on the thread of the disk when the changes are durable; exceptionally with
   *     the failure of the store, or a {@link Refusal} UNAVAILABLE where that thread has ended
   */
  public CompletableFuture<Void> store(Runnable write) {
    return store(new Write(write, false, false));
  }

  /**
   * Runs a write as {@link #store} does, which has a file together with others of its kind that
   * wait: where all are of this kind, they wait longer for as many as the last time.
   */
  CompletableFuture<Void> storeTogether(Runnable write) {
    return store(new Write(write, false, true));
  }

  private CompletableFuture<Void> store(Write write) {
    if (isEnded) {
      return CompletableFuture.failedFuture(ended());
    }
    if (thread == null) {
      return CompletableFuture.runAsync(write.work, Runnable::run);
    }
    return add(write).durable;
  }

  /**
   * Runs a write as {@link #store} does, but for its changes, each of which is made alone, before
   * its call returns: so that the write sees what those before it have made.
   */
  public CompletableFuture<Void> storeAlone(Runnable write) {
    return thread == null && !isEnded ? store(write) : run(write);
  }

  private Write add(Write write) {
    waiting.add(write);
    if (!write.isTogether) {
      hurried.incrementAndGet();
    }
    if (arrived.incrementAndGet() >= expected || !write.isTogether || !isGathering) {
      wake(); // the others would find too few
    }
    if (isEnded) {
      refuseWaiting(); // the last cycle may have ended before
    }
    return write;
  }

  @Override
  public void make(FileChange change) {
    final Thread owner = thread;
    if (owner == null) {
      FileGroup.makeAlone(change);
    } else if (owner != Thread.currentThread()) {
      await(add(new Write(() -> addToGroup(change), true, false)), change);
    } else if (current == null) {
      FileGroup.makeAlone(change);
    } else {
      addToGroup(change);
    }
  }

  private static void await(Write write, FileChange change) {
    try {
      write.durable.join();
    } catch (CompletionException failure) {
      throw failure.getCause() instanceof RuntimeException refused ? refused : failure;
    }
    change.finish();
  }

  private void addToGroup(FileChange change) {
    if (!current.changes.isEmpty() || group.changes(change.files(), change.name())) {
      commit();
    }
    final List<FileChange> before = current.changes;
    if (!before.isEmpty() && before.getLast().hasFailed()) {
      throw new FailedBefore();
    }
    before.add(change);
    group.add(change);
  }

  /** Ends a write of which a change has failed; the failure is that of the change. */
  private static final class FailedBefore extends RuntimeException {
    private static final long serialVersionUID = 1L;

    FailedBefore() {
      super("a change before it failed", null, false, false);
    }
  }

  @Override
  public void onStart() {
    thread = Thread.currentThread();
  }

  @Override
  protected int background() {
    if (!hasGathered()) {
      return 0;
    }
    final int count = Math.min(MOST_TOGETHER, arrived.get()); // who comes now is in the next group
    for (int i = 0; i < count; i++) {
      final Write next = waiting.poll();
      arrived.decrementAndGet();
      if (!next.isTogether) {
        hurried.decrementAndGet();
      }
      perform(next);
    }
    commit();
    expected = Math.min(MOST_TOGETHER, count + arrived.get());
    return count;
  }

  /** Returns whether as many wait as the last time, or have had the time to come. */
  private boolean hasGathered() {
    final int present = arrived.get();
    if (present == 0 || present >= expected) {
      endGathering();
      return present > 0;
    }
    final long nowNs = clock.nanoTime();
    if (!isGathering) {
      isGathering = true;
      gatheringSinceNs = nowNs;
    }
    final long mostNs = hurried.get() == 0 ? TOGETHER_NS : GATHERING_NS;
    final long leftNs = mostNs - (nowNs - gatheringSinceNs);
    if (leftNs > 0) {
      parkFor(leftNs);
      return false;
    }
    endGathering();
    return true;
  }

  private void endGathering() {
    if (isGathering) {
      isGathering = false;
      parkFor(Long.MAX_VALUE);
    }
  }

  private void perform(Write write) {
    current = write;
    try {
      write.work.run();
    } catch (FailedBefore ended) {
      // its change has the failure
    } catch (RuntimeException failure) {
      write.failure = failure;
    } finally {
      current = null;
    }
    uncommitted.add(write);
  }

  /** Makes durable what waits, and answers the writes that have run. */
  private void commit() {
    final Write running = current;
    current = null; // what follows a change is no part of the group
    group.commit();
    final List<Write> all = List.copyOf(uncommitted);
    uncommitted.clear();
    all.stream().filter(write -> !write.hasAfterwards()).forEach(Write::finish);
    all.stream().filter(Write::hasAfterwards).forEach(Write::finish);
    current = running;
  }

  private static Refusal ended() {
    return Refusal.unavailable("", "store is closed");
  }

  private void refuseWaiting() {
    for (Write next = waiting.poll(); next != null; next = waiting.poll()) {
      next.durable.completeExceptionally(ended());
    }
  }

  /** Makes durable what still waits: the callers may have gone, but the changes were asked for. */
  @Override
  protected void closed() {
    expected = 0;
    while (background() > 0) {
      // until nothing waits
    }
    isEnded = true;
    thread = null;
    refuseWaiting();
  }
}
