package agent.policy;

import agent.identity.Identity;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * What follows from a change of rules, endpoints or identities. To be carried out in this order, so
 * that no packet meets an identity that the policy maps do not know, and nothing that is allowed
 * before and after is dropped in between: the policy maps of {@code endpoints} change, ipcache
 * entries of {@code cidrsAdded} come, those of {@code cidrsRemoved} go, the policy maps of {@code
 * cleanups} lose what nobody meets any more. An ipcache entry of an endpoint or of the node wins
 * over one of a CIDR with the same prefix.
 *
 * @param revision the revision of the rules now
 * @param endpoints the endpoints whose policy is another one
 * @param failures endpoints whose new policy does not fit into the map: of the former one stays
 *     what the new one allows, too, and what it forbids is forbidden
 * @param cidrsAdded identities of CIDRs that appeared
 * @param cidrsRemoved identities of CIDRs that went
 * @param cleanups endpoints whose policy maps still know identities that went, or have room only
 *     now for what is forbidden; where an endpoint is in both lists, this is its policy in the end
 */
public record PolicyUpdate(
    long revision,
    List<EndpointPolicyChange> endpoints,
    Map<Integer, Refusal> failures,
    List<Identity> cidrsAdded,
    List<Identity> cidrsRemoved,
    List<EndpointPolicyChange> cleanups) {

  PolicyUpdate with(List<EndpointPolicyChange> otherEndpoints) {
    return new PolicyUpdate(revision, otherEndpoints, failures, cidrsAdded, cidrsRemoved, cleanups);
  }

  /** This update, and the one that the release of identities brings. */
  PolicyUpdate then(PolicyUpdate release) {
    final Map<Integer, Refusal> allFailures = new TreeMap<>(failures);
    allFailures.putAll(release.failures);
    final List<Identity> added = new ArrayList<>(cidrsAdded);
    added.addAll(release.cidrsAdded);
    final List<Identity> removed = new ArrayList<>(cidrsRemoved);
    removed.addAll(release.cidrsRemoved);
    final List<EndpointPolicyChange> last = new ArrayList<>(cleanups);
    last.addAll(release.endpoints);
    last.addAll(release.cleanups);
    return new PolicyUpdate(release.revision, endpoints, allFailures, added, removed, last);
  }
}
