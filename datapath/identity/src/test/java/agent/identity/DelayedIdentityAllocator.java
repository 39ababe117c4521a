package agent.identity;

import agent.identity.IdentityDirectory.IdentityInUse;
import agent.identity.IdentityDirectory.IdentityListener;
import agent.types.Refusal;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Supplier;

/**
 * A test double for an allocator whose store is on the network: a change waits in a queue and is
 * carried out by {@link #runNext} or, with an executor, on another thread. Other nodes can be made
 * to add and remove identities, and the store can be made to fail.
 */
public final class DelayedIdentityAllocator implements IdentityAllocator {
  private final LocalIdentityAllocator store = new LocalIdentityAllocator();
  private final Map<Integer, Integer> ownReferences = new TreeMap<>();
  private final Map<LabelSet, Identity> remote = new HashMap<>();
  private final Queue<Runnable> pending = new ArrayDeque<>();
  private final Executor executor;
  private RuntimeException failure;

  /** Creates an allocator whose changes wait for {@link #runNext} or {@link #runAll}. */
  public DelayedIdentityAllocator() {
    this(null);
  }

  /**
   * Creates an allocator whose changes an executor carries out, one after another.
   *
   * @param executor a single thread
   */
  public DelayedIdentityAllocator(Executor executor) {
    this.executor = executor;
  }

  private <T> CompletableFuture<T> later(Supplier<T> change) {
    final CompletableFuture<T> answer = new CompletableFuture<>();
    final Runnable work =
        () -> {
          final T value;
          try {
            value = change.get();
          } catch (RuntimeException refused) {
            answer.completeExceptionally(refused);
            return;
          }
          answer.complete(value);
        };
    if (executor == null) {
      synchronized (pending) {
        pending.add(work);
      }
    } else {
      executor.execute(work);
    }
    return answer;
  }

  /** Carries out the oldest change on this thread; returns false where none waits. */
  public boolean runNext() {
    final Runnable work;
    synchronized (pending) {
      work = pending.poll();
    }
    if (work != null) {
      work.run();
    }
    return work != null;
  }

  /** Carries out all waiting changes, including those requested meanwhile. */
  public void runAll() {
    boolean ran = runNext();
    while (ran) {
      ran = runNext();
    }
  }

  /** Returns the number of waiting changes. */
  public int pending() {
    synchronized (pending) {
      return pending.size();
    }
  }

  /**
   * Makes the following calls of acquire and restore fail.
   *
   * @param cause the failure of their futures; null ends the failures
   */
  public synchronized void fail(RuntimeException cause) {
    failure = cause;
  }

  /**
   * Acquires a reference for another node; listeners are notified on this thread if the identity is
   * new.
   *
   * @param labels the labels
   * @return the identity
   */
  public Identity addRemote(LabelSet labels) {
    final Identity identity = store.acquire(labels).join();
    synchronized (this) {
      remote.put(labels, identity);
    }
    return identity;
  }

  /** Releases the reference of the other node. */
  public void removeRemote(LabelSet labels) {
    final Identity identity;
    synchronized (this) {
      identity = remote.remove(labels);
    }
    store.release(identity.id()).join();
  }

  @Override
  public CompletableFuture<Identity> acquire(LabelSet labels) {
    return later(() -> counted(() -> store.acquire(labels)));
  }

  @Override
  public CompletableFuture<Identity> restore(int id, LabelSet labels) {
    return later(() -> counted(() -> store.restore(id, labels)));
  }

  private Identity counted(Supplier<CompletableFuture<Identity>> change) {
    synchronized (this) {
      if (failure != null) {
        throw failure;
      }
    }
    final Identity identity = value(change.get());
    synchronized (this) {
      ownReferences.merge(identity.id(), 1, Integer::sum);
    }
    return identity;
  }

  private static <T> T value(CompletableFuture<T> answer) {
    if (answer.isCompletedExceptionally()) {
      throw (RuntimeException) answer.exceptionNow();
    }
    return answer.join();
  }

  @Override
  public CompletableFuture<Boolean> release(int id) {
    return later(
        () -> {
          final boolean isLast;
          synchronized (this) {
            if (!ownReferences.containsKey(id)) {
              throw Refusal.notFound("identity", id + " is not in use");
            }
            isLast = ownReferences.merge(id, -1, Integer::sum) == 0;
            if (isLast) {
              ownReferences.remove(id);
            }
          }
          value(store.release(id));
          return isLast;
        });
  }

  @Override
  public Optional<Identity> find(int id) {
    return store.find(id);
  }

  @Override
  public Optional<Identity> find(LabelSet labels) {
    return store.find(labels);
  }

  @Override
  public List<Identity> list() {
    return store.list();
  }

  @Override
  public List<IdentityInUse> inUse() {
    final List<IdentityInUse> used = new ArrayList<>();
    synchronized (this) {
      ownReferences.forEach(
          (id, count) -> used.add(new IdentityInUse(store.find(id).orElseThrow(), count)));
    }
    return List.copyOf(used);
  }

  @Override
  public void addListener(IdentityListener listener) {
    store.addListener(listener);
  }
}
