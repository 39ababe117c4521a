package agent.policy.repository;

import agent.policy.spec.RuleSpec;
import java.util.List;

/**
 * The state of the policy that outlives a restart.
 *
 * @param revision the revision
 * @param rules the rules in the order in which they were added
 * @param cidrIdentities the numbers of the CIDRs that the rules name
 */
public record PolicyState(long revision, List<RuleSpec> rules, List<CidrIdentity> cidrIdentities) {
  /**
   * The number of a CIDR.
   *
   * @param cidr the CIDR
   * @param identity the identity's number
   */
  public record CidrIdentity(String cidr, int identity) {}
}
