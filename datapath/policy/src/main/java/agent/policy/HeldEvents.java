package agent.policy;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/**
 * Events of identities that wait while policies are resolved beside the engine's thread: what they
 * are resolved from does not change meanwhile. Under the engine's lock.
 */
final class HeldEvents {
  private final Queue<Runnable> events = new ArrayDeque<>();
  private boolean isHolding;

  /** Returns whether the event waits; otherwise it is to be followed now. */
  boolean hold(Runnable event) {
    if (isHolding) {
      events.add(event);
    }
    return isHolding;
  }

  void begin() {
    isHolding = true;
  }

  /** Follows the events that wait, in their order. */
  void end() {
    isHolding = false;
    while (!events.isEmpty()) {
      events.poll().run();
    }
  }

  /**
   * Does so behind work that has ended, and throws its failure.
   *
   * @param work null for none
   */
  void endBehind(CompletableFuture<Void> work) {
    if (work != null) {
      end();
      try {
        work.join();
      } catch (CompletionException failure) {
        throw failure.getCause() instanceof RuntimeException cause ? cause : failure;
      }
    }
  }
}
