package agent.policy;

/** Hears that {@link PolicyEngine#refresh} has something to do. */
@FunctionalInterface
public interface PolicyObserver {
  /**
   * The policy of an endpoint, or an identity of a CIDR, has changed because of an identity that
   * appeared or went. Called on the thread of that event, at most once until the next {@link
   * PolicyEngine#refresh}; it must be short and must not wait for the engine's thread.
   */
  void onPolicyAffected();
}
