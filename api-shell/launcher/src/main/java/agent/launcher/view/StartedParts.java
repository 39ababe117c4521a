package agent.launcher.view;

import agent.datapath.manager.DatapathManager;
import agent.endpoint.Endpoints;
import agent.endpoint.PolicyService;
import agent.ipam.Ipam;
import agent.node.NodeAddressing;
import java.time.InstantSource;

/**
 * The parts of a daemon that is ready.
 *
 * @param addressing the node's addresses
 * @param ipam its addresses for workloads
 * @param datapath its datapath
 * @param endpoints its endpoints
 * @param policy its policy
 * @param clock the time
 */
public record StartedParts(
    NodeAddressing addressing,
    Ipam ipam,
    DatapathManager datapath,
    Endpoints endpoints,
    PolicyService policy,
    InstantSource clock) {
  /** No part, yet. */
  static final StartedParts NONE = new StartedParts(null, null, null, null, null, null);

  String policyMode() {
    return policy.mode().text();
  }
}
