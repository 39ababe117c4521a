package agent.conductor;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/**
 * A queue of operations on the subjects of a conductor, such as endpoints. Operations on one
 * subject run one after another, and only a few operations run at a time, so that other requests to
 * the conductor do not wait behind many.
 */
public final class OperationQueue {
  /** The subject of operations that run beside all others. */
  public static final int NEW = 0;

  private final ConductorAgent conductor;
  private final int maxActive;
  private final Deque<Operation<?>> pending = new ArrayDeque<>();
  private final Set<Integer> busySubjects = new HashSet<>();
  private int active;

  /**
   * Creates a queue whose operations run on this conductor's thread.
   *
   * @param maxActive how many operations run at a time
   */
  public OperationQueue(ConductorAgent conductor, int maxActive) {
    this.conductor = conductor;
    this.maxActive = maxActive;
  }

  /**
   * Adds an operation. Thread-safe.
   *
   * @param subject number of the subject that it changes, or {@link #NEW} for a new one
   * @param work starts on the conductor's thread; the operation ends when the returned future
   *     completes
   * @return the result of the operation; completes on the conductor's thread
   */
  public <T> CompletableFuture<T> add(int subject, Supplier<CompletableFuture<T>> work) {
    final Operation<T> operation = new Operation<>(subject, work);
    conductor
        .run(
            () -> {
              pending.add(operation);
              activate();
            })
        .exceptionally(
            failure -> {
              operation.result.completeExceptionally(failure);
              return null;
            });
    return operation.result;
  }

  private void activate() {
    final Iterator<Operation<?>> next = pending.iterator();
    while (active < maxActive && next.hasNext()) {
      final Operation<?> operation = next.next();
      if (operation.subject == NEW || busySubjects.add(operation.subject)) {
        next.remove();
        active++;
        conductor.beginHere(operation);
      }
    }
  }

  private void ended(int subject) {
    active--;
    busySubjects.remove(subject);
    activate();
  }

  private final class Operation<T> implements Work {
    private final int subject;
    private final Supplier<CompletableFuture<T>> work;
    private final CompletableFuture<T> result = new CompletableFuture<>();
    private CompletableFuture<T> running;

    Operation(int subject, Supplier<CompletableFuture<T>> work) {
      this.subject = subject;
      this.work = work;
    }

    @Override
    public Progress step() {
      if (running == null) {
        running = work.get();
        running.whenComplete((value, failure) -> conductor.wake());
        return Progress.WORKED;
      }
      if (!running.isDone()) {
        return Progress.WAITING;
      }
      ended(subject);
      running.whenComplete(
          (value, failure) -> {
            if (failure == null) {
              result.complete(value);
            } else {
              result.completeExceptionally(failure);
            }
          });
      return Progress.DONE;
    }

    @Override
    public void failed(RuntimeException failure) {
      ended(subject);
      result.completeExceptionally(failure);
    }
  }
}
