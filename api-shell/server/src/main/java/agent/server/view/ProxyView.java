package agent.server.view;

import agent.contract.endpoint.EndpointPolicyModel.ProxyStatistics;
import java.util.List;

/** What the proxies do for endpoints. Safe for every thread, and waits for nothing. */
@FunctionalInterface
public interface ProxyView {
  /** Returns what they do for an endpoint now. */
  EndpointTraffic of(int endpointId);

  /**
   * What the proxies do for one endpoint.
   *
   * @param policyRevision the revision of the policy that they judge by; 0: none of its flows goes
   *     through a proxy
   * @param statistics the redirects that its policy has, or that have had a flow
   */
  record EndpointTraffic(long policyRevision, List<ProxyStatistics> statistics) {
    /** No flow goes through a proxy, or has gone. */
    public static final EndpointTraffic NONE = new EndpointTraffic(0, List.of());
  }
}
