package agent.policy.repository;

/**
 * The rules now, and those before the last commit while it can be undone. The engine's thread
 * changes them; any thread may read those of now.
 */
public final class CurrentRules {
  private volatile PolicyRepository now;
  private PolicyRepository previous;

  /** Begins with these rules. */
  public CurrentRules(PolicyRepository now) {
    this.now = now;
  }

  /** Returns the rules in force. */
  public PolicyRepository now() {
    return now;
  }

  /** Returns the rules before the last commit; null where it cannot be undone. */
  public PolicyRepository previous() {
    return previous;
  }

  /** Replaces the rules by those of a commit that can be undone. */
  public void replace(PolicyRepository after) {
    previous = now;
    now = after;
  }

  /** Ends that the last commit can be undone. */
  public void confirm() {
    previous = null;
  }
}
