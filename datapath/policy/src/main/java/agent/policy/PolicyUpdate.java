package agent.policy;

import agent.datapath.spec.PolicyDelta;
import agent.policy.reference.OutsideChanges;
import agent.policy.resolve.ResolvedPolicy;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The writes that a change of rules, endpoints or identities needs. The order matters, so that the
 * ipcache gives no packet an identity that the policy maps lack, nothing that is allowed before and
 * after is dropped meanwhile, and nothing passes that is denied before and after: change the policy
 * maps of {@code bridges}, put the ipcache entries that {@code outside} adds, change the policy
 * maps of {@code endpoints}, remove the ipcache entries that {@code outside} removes, change the
 * policy maps of {@code cleanups}. An ipcache entry of an endpoint or of the node takes precedence
 * over one of a CIDR with the same prefix.
 *
 * @param revision the revision of the rules now
 * @param bridges endpoints to which the rules before the change say something of the identities
 *     that are added, with the policy of these rules; an endpoint may be in the next list, too
 * @param endpoints the endpoints whose policy changes
 * @param failures endpoints whose new policy does not fit into the map, which has a reduced one:
 *     allows that both policies have, as far as they fit, and the new denies
 * @param outside the prefixes outside whose identities change
 * @param cleanups endpoints whose policy maps hold entries of identities that were removed, or have
 *     room for their denies only now; for an endpoint in both lists this is the final policy
 */
public record PolicyUpdate(
    long revision,
    List<EndpointPolicyChange> bridges,
    List<EndpointPolicyChange> endpoints,
    Map<Integer, Refusal> failures,
    OutsideChanges outside,
    List<EndpointPolicyChange> cleanups) {

  PolicyUpdate with(EndpointPolicyChange last) {
    final List<EndpointPolicyChange> all = new ArrayList<>(endpoints);
    all.add(last);
    return new PolicyUpdate(revision, bridges, all, failures, outside, cleanups);
  }

  PolicyUpdate after(List<EndpointPolicyChange> otherBridges) {
    return new PolicyUpdate(revision, otherBridges, endpoints, failures, outside, cleanups);
  }

  /** Returns this update for a change of identities alone, while the rules stay as they are. */
  PolicyUpdate ofSameRules() {
    return outside.added().isEmpty()
        ? this
        : new PolicyUpdate(revision, endpoints, List.of(), failures, outside, cleanups);
  }

  private boolean isEmpty() {
    return bridges.isEmpty()
        && endpoints.isEmpty()
        && failures.isEmpty()
        && outside.isEmpty()
        && cleanups.isEmpty();
  }

  /** Returns this update followed by the one that the release of identities needs. */
  PolicyUpdate then(PolicyUpdate release) {
    if (release.isEmpty()) {
      return this;
    }
    final Map<Integer, Refusal> allFailures = new TreeMap<>(failures);
    allFailures.putAll(release.failures);
    final List<EndpointPolicyChange> last = new ArrayList<>(cleanups);
    last.addAll(release.endpoints);
    last.addAll(release.cleanups);
    return new PolicyUpdate(
        release.revision, bridges, endpoints, allFailures, outside.then(release.outside), last);
  }

  /**
   * The change of one endpoint's policy.
   *
   * @param endpointId the endpoint
   * @param policy its policy from now on
   * @param diff the change of its policy map; empty where only the summary is new
   */
  public record EndpointPolicyChange(int endpointId, ResolvedPolicy policy, PolicyDelta diff) {}
}
