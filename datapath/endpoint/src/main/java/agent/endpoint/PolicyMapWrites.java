package agent.endpoint;

import agent.datapath.manager.spec.PolicyMapDelta;
import agent.datapath.manager.spec.PolicyMapEntry;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.PolicyFlag;
import agent.policy.Direction;
import agent.policy.PolicyEntry;
import agent.policy.PolicyMapDiff;
import java.util.Collection;
import java.util.List;

/** Says resolved policy in the words of the policy maps. */
final class PolicyMapWrites {
  private PolicyMapWrites() {}

  static PolicyMapDelta delta(PolicyMapDiff diff) {
    return new PolicyMapDelta(entries(diff.upserts()), entries(diff.deletes()));
  }

  static List<PolicyMapEntry> entries(Collection<PolicyEntry> entries) {
    return entries.stream().map(PolicyMapWrites::entry).toList();
  }

  private static PolicyMapEntry entry(PolicyEntry entry) {
    return new PolicyMapEntry(
        entry.identity(),
        entry.direction() == Direction.INGRESS ? PolicyDirection.INGRESS : PolicyDirection.EGRESS,
        entry.protocol(),
        entry.port(),
        entry.prefixLength(),
        entry.deny() ? PolicyFlag.DENY.number() : 0,
        0);
  }
}
