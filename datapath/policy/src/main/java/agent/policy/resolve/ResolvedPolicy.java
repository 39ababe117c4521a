package agent.policy.resolve;

import agent.datapath.spec.PolicyEntry;
import agent.maps.layout.PolicyPrefix;
import agent.maps.layout.RedirectKind;
import agent.policy.request.PolicyRedirect;
import agent.policy.rule.PeerSelector;
import java.util.LinkedHashSet;
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
 * @param portNames the names of ports of peers that the entries depend on
 * @param requests the rules of requests of flows that the entries redirect
 */
public record ResolvedPolicy(
    long revision,
    int identity,
    List<PolicyEntry> entries,
    DirectionSummary ingress,
    DirectionSummary egress,
    Set<PeerSelector> selectors,
    Set<String> portNames,
    List<RequestSection> requests) {
  private static final int HIGHEST_PORT = 65535;

  /** Returns which flows go through proxies, each once and in order, whatever the peer. */
  public List<PolicyRedirect> redirects() {
    if (requests.isEmpty()) {
      return List.of();
    }
    final Set<PolicyRedirect> found = new LinkedHashSet<>();
    for (final PolicyEntry entry : entries) {
      if (entry.verdict().isRedirect()) {
        final int portBits = entry.prefixLength() - PolicyPrefix.PROTOCOL;
        found.add(
            new PolicyRedirect(
                entry.direction(),
                RedirectKind.values()[entry.verdict().redirect()],
                entry.protocol(),
                entry.port(),
                entry.port() | HIGHEST_PORT >>> portBits));
      }
    }
    return List.copyOf(found);
  }

  /** Returns whether another policy says the same, at whatever revision. */
  public boolean isAs(ResolvedPolicy other) {
    return entries.size() == other.entries.size() && at(0).equals(other.at(0));
  }

  /** Returns the same policy at another revision. */
  public ResolvedPolicy at(long otherRevision) {
    return new ResolvedPolicy(
        otherRevision, identity, entries, ingress, egress, selectors, portNames, requests);
  }
}
