package agent.policy.request;

import agent.datapath.spec.RedirectedFlow;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.RedirectKind;
import java.util.List;

/**
 * The rules of requests in force: of the client where it is an endpoint of this node, and of the
 * server where that is one; both must allow. A side without rules of requests for the flow allows
 * what its other rules allow. Any thread may ask, without waiting and without allocating.
 */
public interface RequestPolicies {
  /** Returns what policy says of an HTTP request in a flow. */
  HttpVerdict http(RedirectedFlow flow, HttpRequest request);

  /**
   * Returns whether a DNS question may be asked.
   *
   * @param name the name in lower case, without the dot at its end
   */
  boolean dns(RedirectedFlow flow, String name);

  /**
   * Returns whether the policies of both ends let the flow exist at all, whatever is asked in it. A
   * flow that a proxy has open ends where they do not any more.
   */
  default boolean admits(RedirectedFlow flow) {
    return true;
  }

  /**
   * Returns the proxy that the policy of one end sends a flow to; {@code NONE}: it sends it to
   * none, or this end is no endpoint of this node.
   *
   * @param direction egress for the client, ingress for the server
   */
  RedirectKind redirect(RedirectedFlow flow, PolicyDirection direction);

  /** Returns which flows of an endpoint go through proxies, each once and in order. */
  List<PolicyRedirect> redirects(int endpointId);

  /** Returns the revision of the rules in force. */
  long revision();
}
