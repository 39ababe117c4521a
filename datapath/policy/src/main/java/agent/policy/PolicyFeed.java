package agent.policy;

import agent.policy.request.RequestPolicies;
import agent.policy.resolve.ResolvedPolicy;
import java.util.Map;

/** The rules of requests in force, for questions and for those who keep a copy. */
public interface PolicyFeed extends RequestPolicies {
  /** Hears of the policies, each time in the order in which they are published. */
  interface Follower {
    /**
     * Some endpoints have other policies. Called with a lock held: it does not wait.
     *
     * @param revision the revision of the rules from now on
     * @param changed the policies by the ids of their endpoints
     */
    void onPublished(long revision, Map<Integer, ResolvedPolicy> changed);

    /** An endpoint has no policy any more. */
    void onRemoved(int endpointId);
  }

  /** Adds a follower, which gets all policies now and the changes from then on. */
  void follow(Follower follower);

  /** Removes a follower. */
  void unfollow(Follower follower);

  /**
   * Returns whether a rule lets an endpoint ask for a name at some server.
   *
   * @param endpointId 0: one outside, of a server that is an endpoint of this node
   * @param name in lower case, without the dot at its end
   */
  boolean mayAsk(int endpointId, String name);
}
