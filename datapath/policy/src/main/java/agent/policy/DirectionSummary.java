package agent.policy;

import java.util.List;

/**
 * The summary of a resolved policy for one direction.
 *
 * @param enforced whether policy is enforced
 * @param allowed identities that some port is allowed to, in order; 0 is any identity
 * @param denied identities that some port is denied to by a rule, in order; 0 is any identity
 * @param l4 the lines about endpoints, entities and everybody
 * @param cidr the lines about CIDRs
 */
public record DirectionSummary(
    boolean enforced,
    List<Integer> allowed,
    List<Integer> denied,
    List<DerivedRule> l4,
    List<DerivedRule> cidr) {}
