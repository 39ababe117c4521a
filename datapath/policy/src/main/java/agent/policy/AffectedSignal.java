package agent.policy;

/**
 * Notifies an observer that identities affect the policy: once until {@link #clear}. Any thread may
 * call.
 */
final class AffectedSignal {
  private PolicyObserver observer = () -> {};
  private boolean isRaised;

  /** Sets the observer; where the signal is raised, the observer is called before this returns. */
  void observe(PolicyObserver value) {
    synchronized (this) {
      observer = value;
      if (!isRaised) {
        return;
      }
    }
    value.onPolicyAffected();
  }

  /** Calls the observer where something is affected, unless the signal is raised already. */
  void raise(boolean isAffected) {
    final PolicyObserver current;
    synchronized (this) {
      if (isRaised || !isAffected) {
        return;
      }
      isRaised = true;
      current = observer;
    }
    current.onPolicyAffected();
  }

  /** Ends the signal, before what was affected is resolved. */
  synchronized void clear() {
    isRaised = false;
  }
}
