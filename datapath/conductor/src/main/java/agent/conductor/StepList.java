package agent.conductor;

import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Deque;
import java.util.Iterator;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** Small pieces of work that follow each other, a bounded number of which is one step. */
public final class StepList {
  /** The cost of all pieces of a step; an element of a collection costs 1. */
  private static final int MOST = 256;

  private static final int PLAIN = 4;
  private static final int LARGE = MOST / 4;

  private final Deque<BooleanSupplier> pieces = new ArrayDeque<>();
  private int cost;

  /** Adds a piece. */
  public StepList then(Runnable piece) {
    pieces.add(
        () -> {
          cost += PLAIN;
          piece.run();
          return true;
        });
    return this;
  }

  /**
   * Adds an action on each element, which takes as many steps as it needs.
   *
   * @param elements asked for when the first of these steps begins
   */
  public <T> StepList each(
      Supplier<? extends Collection<? extends T>> elements, Consumer<T> action) {
    pieces.add(new Each<>(elements, action));
    return this;
  }

  /** Adds a large piece that is repeated until it returns true. */
  public StepList until(BooleanSupplier piece) {
    pieces.add(
        () -> {
          cost += LARGE;
          return piece.getAsBoolean();
        });
    return this;
  }

  /** Runs the next step; returns whether it was the last one. */
  public boolean run() {
    cost = 0;
    while (!pieces.isEmpty() && cost < MOST) {
      if (pieces.peek().getAsBoolean()) {
        pieces.poll();
      }
    }
    return pieces.isEmpty();
  }

  /**
   * Runs the first step, and the further ones as patient work of a conductor; for its thread.
   *
   * @return completes after the last step; null where one was enough
   */
  public CompletableFuture<Void> runPatiently(ConductorAgent conductor) {
    if (run()) {
      return null;
    }
    final CompletableFuture<Void> done = new CompletableFuture<>();
    conductor.beginPatient(new Patient(done));
    return done;
  }

  private final class Patient implements Work {
    private final CompletableFuture<Void> done;

    Patient(CompletableFuture<Void> done) {
      this.done = done;
    }

    @Override
    public Progress step() {
      if (!run()) {
        return Progress.WORKED;
      }
      done.complete(null);
      return Progress.DONE;
    }

    @Override
    public void failed(RuntimeException failure) {
      done.completeExceptionally(failure);
    }
  }

  /** Adds to the cost of the step that runs that of the piece that calls this. */
  public void charge() {
    cost += PLAIN;
  }

  /** Ends the step that runs with the piece that calls this. */
  public void pause() {
    cost = MOST;
  }

  /** Removes all pieces. */
  public void clear() {
    pieces.clear();
  }

  private final class Each<T> implements BooleanSupplier {
    private final Supplier<? extends Collection<? extends T>> elements;
    private final Consumer<T> action;
    private Iterator<? extends T> left;

    Each(Supplier<? extends Collection<? extends T>> elements, Consumer<T> action) {
      this.elements = elements;
      this.action = action;
    }

    @Override
    public boolean getAsBoolean() {
      if (left == null) {
        left = elements.get().iterator();
      }
      for (cost++; cost < MOST && left.hasNext(); cost++) {
        action.accept(left.next());
      }
      return !left.hasNext();
    }
  }
}
