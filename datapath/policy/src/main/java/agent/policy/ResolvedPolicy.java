package agent.policy;

import java.util.List;
import java.util.Set;

/**
 * The policy of one endpoint at a revision.
 *
 * @param revision the revision of the rules
 * @param identity the endpoint's own identity
 * @param entries the whole policy map, in order
 * @param ingress what was resolved for traffic to the endpoint
 * @param egress what was resolved for traffic from it
 * @param selectors the selectors whose identities the entries depend on
 */
public record ResolvedPolicy(
    long revision,
    int identity,
    List<PolicyEntry> entries,
    DirectionSummary ingress,
    DirectionSummary egress,
    Set<PeerSelector> selectors) {

  /** The same policy, told at another revision. */
  ResolvedPolicy at(long otherRevision) {
    return new ResolvedPolicy(otherRevision, identity, entries, ingress, egress, selectors);
  }
}
