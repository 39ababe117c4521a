package agent.conductor;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * A sequence of steps on a conductor's thread. Where a step returns a future, the next step starts
 * when it is complete, and the conductor executes other work in the meantime. For the conductor's
 * thread.
 */
public final class StepSequence implements Work {
  private final Runnable wake;
  private final Queue<Supplier<CompletableFuture<?>>> steps = new ArrayDeque<>();
  private Runnable onDone = () -> {};
  private Consumer<RuntimeException> onFailure = failure -> {};
  private CompletableFuture<?> pending;

  /**
   * Creates an empty sequence.
   *
   * @param wake wakes the conductor when a future completes
   */
  public StepSequence(Runnable wake) {
    this.wake = wake;
  }

  /** Adds a step that is finished when it returns. */
  public StepSequence then(Runnable step) {
    steps.add(
        () -> {
          step.run();
          return null;
        });
    return this;
  }

  /** Adds a step that is finished when its future is complete; null is finished at once. */
  public StepSequence thenAwait(Supplier<CompletableFuture<?>> step) {
    steps.add(step);
    return this;
  }

  /** Sets the action that runs once after the last step. */
  public StepSequence onDone(Runnable action) {
    onDone = action;
    return this;
  }

  /** Sets the action that runs once after a failed step; the remaining steps are skipped. */
  public StepSequence onFailure(Consumer<RuntimeException> action) {
    onFailure = action;
    return this;
  }

  @Override
  public Progress step() {
    if (pending != null) {
      if (!pending.isDone()) {
        return Progress.WAITING;
      }
      final CompletableFuture<?> completed = pending;
      pending = null;
      check(completed);
    }
    final Supplier<CompletableFuture<?>> next = steps.poll();
    if (next == null) {
      onDone.run();
      return Progress.DONE;
    }
    pending = next.get();
    if (pending != null && !pending.isDone()) {
      pending.whenComplete((value, failure) -> wake.run());
    }
    return Progress.WORKED;
  }

  private static void check(CompletableFuture<?> completed) {
    try {
      completed.get();
    } catch (InterruptedException impossible) {
      throw new IllegalStateException(impossible); // get() of a complete future does not block
    } catch (ExecutionException failure) {
      throw failure.getCause() instanceof RuntimeException cause
          ? cause
          : new CompletionException(failure.getCause());
    }
  }

  @Override
  public void failed(RuntimeException failure) {
    steps.clear();
    onFailure.accept(failure);
  }
}
