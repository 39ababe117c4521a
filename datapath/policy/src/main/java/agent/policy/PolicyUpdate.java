package agent.policy;

import agent.identity.Identity;
import agent.terms.Refusal;
import java.util.List;
import java.util.Map;

/**
 * What follows from a change of rules, endpoints or identities. To be carried out in this order, so
 * that no packet meets an identity that the maps do not know yet: ipcache entries of {@code
 * cidrsRemoved} go, the policy maps of {@code endpoints} change, ipcache entries of {@code
 * cidrsAdded} come. An ipcache entry of an endpoint or of the node wins over one of a CIDR with the
 * same prefix.
 *
 * @param revision the revision of the rules now
 * @param endpoints the endpoints whose policy is another one
 * @param failures endpoints that keep their policy because the new one does not fit into the map
 * @param cidrsAdded identities of CIDRs that appeared
 * @param cidrsRemoved identities of CIDRs that went
 */
public record PolicyUpdate(
    long revision,
    List<EndpointPolicyChange> endpoints,
    Map<Integer, Refusal> failures,
    List<Identity> cidrsAdded,
    List<Identity> cidrsRemoved) {}
