package agent.policy;

import java.util.ArrayDeque;
import java.util.Queue;

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
}
