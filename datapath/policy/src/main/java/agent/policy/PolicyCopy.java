package agent.policy;

import agent.policy.request.Expression;
import agent.policy.request.RequestPolicies;
import agent.policy.resolve.ResolvedPolicy;
import agent.policy.resolve.ResolvedPolicyCodec;
import java.io.DataInput;
import java.io.IOException;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;

/**
 * A copy of the policies in another process, which judges requests as {@link PolicyFeed} does. One
 * thread changes it; any thread may ask. What is read is in force, all of it at once, from {@link
 * #commit} on.
 */
public final class PolicyCopy {
  private final PublishedPolicies policies = new PublishedPolicies();
  private final Map<Integer, ResolvedPolicy> changed = new HashMap<>();

  /** The expressions of this change and of the one before, which mostly are the same. */
  private Map<String, Expression> expressions = new HashMap<>();

  private Map<String, Expression> former = Map.of();

  /** Returns what judges requests. */
  public RequestPolicies policies() {
    return policies;
  }

  /**
   * Reads the policy of some endpoints, as {@link ResolvedPolicyCodec} writes it.
   *
   * @throws IOException where it is none
   */
  public void read(Collection<Integer> endpoints, DataInput in) throws IOException {
    final ResolvedPolicy policy = ResolvedPolicyCodec.read(in, this::expression);
    endpoints.forEach(endpoint -> changed.put(endpoint, policy));
  }

  private Expression expression(String text, boolean foldsCase) {
    final String key = (foldsCase ? "i" : "c") + text;
    final Expression known = former.get(key);
    return expressions.computeIfAbsent(
        key, missing -> known != null ? known : Expression.parse("expression", text, foldsCase));
  }

  /** Publishes the policies that were read since the last call to the judges of requests. */
  public void commit(long revision) {
    policies.publish(revision, Map.copyOf(changed));
    changed.clear();
    if (!expressions.isEmpty()) {
      former = expressions;
      expressions = new HashMap<>();
    }
  }

  /** Removes the policy of an endpoint. */
  public void remove(int endpoint) {
    policies.remove(endpoint);
  }
}
