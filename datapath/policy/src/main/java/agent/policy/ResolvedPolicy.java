package agent.policy;

import agent.datapath.manager.spec.PolicyEntry;
import java.util.List;
import java.util.Set;

/**
 * The policy of one endpoint at a revision.
 *
 * @param revision the revision of the rules
 * @param identity the endpoint's own identity
 * @param entries the whole policy map, in order
 * @param ingress the summary for traffic to the endpoint
 * @param egress the summary for traffic from it
 * @param selectors the selectors whose identities the entries depend on
 */
public record ResolvedPolicy(
    long revision,
    int identity,
    List<PolicyEntry> entries,
    DirectionSummary ingress,
    DirectionSummary egress,
    Set<PeerSelector> selectors) {

  /** Returns the same policy at another revision. */
  ResolvedPolicy at(long otherRevision) {
    return new ResolvedPolicy(otherRevision, identity, entries, ingress, egress, selectors);
  }
}
