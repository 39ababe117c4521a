package agent.reconcile;

/** Waits for changes to be in force. Called once, on the reconciler's thread. */
@FunctionalInterface
public interface Waiter {
  /**
   * Ends the wait.
   *
   * @param failure null where the map holds the entries now; otherwise the first refused write,
   *     whose entry is retried, or the reason for which the changes were not applied
   */
  void done(RuntimeException failure);
}
