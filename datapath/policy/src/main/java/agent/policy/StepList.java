package agent.policy;

import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Deque;
import java.util.Iterator;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** Small pieces of work that follow each other, a bounded number of which is one step. */
final class StepList {
  /** The cost of all pieces of a step; an element of a collection costs 1. */
  private static final int MOST = 256;

  private static final int PLAIN = 4;
  private static final int LARGE = MOST / 4;

  private final Deque<BooleanSupplier> pieces = new ArrayDeque<>();
  private int cost;

  /** Adds a piece. */
  StepList then(Runnable piece) {
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
  <T> StepList each(Supplier<? extends Collection<? extends T>> elements, Consumer<T> action) {
    pieces.add(new Each<>(elements, action));
    return this;
  }

  /** Adds a large piece that is repeated until it returns true. */
  StepList until(BooleanSupplier piece) {
    pieces.add(
        () -> {
          cost += LARGE;
          return piece.getAsBoolean();
        });
    return this;
  }

  /** Runs the next step; returns whether it was the last one. */
  boolean run() {
    cost = 0;
    while (!pieces.isEmpty() && cost < MOST) {
      if (pieces.peek().getAsBoolean()) {
        pieces.poll();
      }
    }
    return pieces.isEmpty();
  }

  /** Ends the step that runs with the piece that calls this. */
  void pause() {
    cost = MOST;
  }

  /** Removes all pieces. */
  void clear() {
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
