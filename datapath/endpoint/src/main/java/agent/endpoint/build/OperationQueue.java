package agent.endpoint.build;

import agent.datapath.manager.thread.ConductorAgent;
import agent.datapath.manager.thread.Work;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/**
 * A queue of operations on endpoints. Operations of one endpoint run one after another, and only a
 * few operations run at a time, so that other requests to the conductor do not wait behind many
 * builds.
 */
public final class OperationQueue {
  /**
   * Enough operations to keep the loader and the disk busy: the records of several are synced at
   * the same time. More would only lengthen the datapath's queue.
   */
  private static final int MAX_ACTIVE = 8;

  private final ConductorAgent conductor;
  private final Deque<Operation<?>> pending = new ArrayDeque<>();
  private final Set<Integer> busyEndpoints = new HashSet<>();
  private int active;

  /** Creates a queue whose operations run on this conductor's thread. */
  public OperationQueue(ConductorAgent conductor) {
    this.conductor = conductor;
  }

  /**
   * Adds an operation. Thread-safe.
   *
   * @param endpointId the endpoint that it changes, or 0 for a new endpoint
   * @param work starts on the conductor's thread; the operation ends when the returned future
   *     completes
   * @return the result of the operation; completes on the conductor's thread
   */
  public <T> CompletableFuture<T> add(int endpointId, Supplier<CompletableFuture<T>> work) {
    final Operation<T> operation = new Operation<>(endpointId, work);
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
    while (active < MAX_ACTIVE && next.hasNext()) {
      final Operation<?> operation = next.next();
      if (operation.endpointId == 0 || busyEndpoints.add(operation.endpointId)) {
        next.remove();
        active++;
        conductor.beginHere(operation);
      }
    }
  }

  private void ended(int endpointId) {
    active--;
    busyEndpoints.remove(endpointId);
    activate();
  }

  private final class Operation<T> implements Work {
    private final int endpointId;
    private final Supplier<CompletableFuture<T>> work;
    private final CompletableFuture<T> result = new CompletableFuture<>();
    private CompletableFuture<T> running;

    Operation(int endpointId, Supplier<CompletableFuture<T>> work) {
      this.endpointId = endpointId;
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
      ended(endpointId);
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
      ended(endpointId);
      result.completeExceptionally(failure);
    }
  }
}
