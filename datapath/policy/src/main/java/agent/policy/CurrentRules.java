package agent.policy;

/**
 * The rules now, and those before the last commit while it can be undone. The engine's thread
 * changes them; any thread may read those of now.
 */
final class CurrentRules {
  private volatile PolicyRepository now;
  private PolicyRepository previous;

  CurrentRules(PolicyRepository now) {
    this.now = now;
  }

  PolicyRepository now() {
    return now;
  }

  /** Returns the rules before the last commit; null where it cannot be undone. */
  PolicyRepository previous() {
    return previous;
  }

  /** Replaces the rules by those of a commit that can be undone. */
  void replace(PolicyRepository after) {
    previous = now;
    now = after;
  }

  /** Ends that the last commit can be undone. */
  void confirm() {
    previous = null;
  }
}
