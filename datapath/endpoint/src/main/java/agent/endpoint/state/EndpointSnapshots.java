package agent.endpoint.state;

import agent.node.NodeAddressing;
import agent.policy.resolve.ResolvedPolicy;
import java.util.List;
import java.util.Map;

/** Creates immutable snapshots of endpoints. */
public final class EndpointSnapshots {
  private final NodeAddressing node;

  /** Creates snapshots that include the addresses of the node. */
  public EndpointSnapshots(NodeAddressing node) {
    this.node = node;
  }

  /** Returns a snapshot of the endpoint. */
  public EndpointSnapshot of(Endpoint endpoint) {
    final EndpointRecord record = endpoint.record();
    final EndpointOptions realized = endpoint.realizedOptions();
    return new EndpointSnapshot(
        endpoint.id(),
        endpoint.state(),
        endpoint.health(),
        endpoint.identity(),
        endpoint.labelTexts(),
        endpoint.options().toMap(),
        realized == null ? Map.of() : realized.toMap(),
        record.configuration().datapath(),
        record.externalIdentifiers(),
        networking(record),
        record.namedPorts(),
        status(endpoint, endpoint.policy(), revisionOf(endpoint.policy())),
        status(endpoint, endpoint.realizedPolicy(), endpoint.realizedRevision()),
        List.of(endpoint.controller().status()),
        endpoint.logEntries(),
        record.workload(),
        record.source(),
        endpoint.error());
  }

  private EndpointNetworking networking(EndpointRecord record) {
    return new EndpointNetworking(
        record.addressing(),
        record.externalIdentifiers().containerInterfaceName(),
        node,
        record.device().hostMac(),
        record.device().mac(),
        record.device().index(),
        record.device().name());
  }

  private static long revisionOf(ResolvedPolicy policy) {
    return policy == null ? 0 : policy.revision();
  }

  private static EndpointPolicyStatus status(
      Endpoint endpoint, ResolvedPolicy policy, long revision) {
    if (policy == null) {
      return EndpointPolicyStatus.NONE;
    }
    return new EndpointPolicyStatus(
        policy.identity(),
        endpoint.build(),
        Math.max(revision, policy.revision()),
        policy.ingress(),
        policy.egress());
  }
}
