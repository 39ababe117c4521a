package agent.launcher.view;

import agent.datapath.manager.DatapathManager;
import agent.endpoint.Endpoints;
import agent.endpoint.PolicyService;
import agent.ipam.Ipam;
import agent.node.HostRoutingWatch;
import agent.node.NodeAddressing;

/**
 * The parts of a daemon that is ready.
 *
 * @param addressing addresses of the node
 * @param routing how flows are routed
 * @param ipam address allocation for workloads
 * @param datapath the datapath
 * @param endpoints the endpoints
 * @param policy the policy
 */
public record StartedParts(
    NodeAddressing addressing,
    HostRoutingWatch routing,
    Ipam ipam,
    DatapathManager datapath,
    Endpoints endpoints,
    PolicyService policy) {
  /** The daemon is starting: no part is ready. */
  static final StartedParts NONE = new StartedParts(null, null, null, null, null, null);

  String policyMode() {
    return policy.mode().text();
  }
}
