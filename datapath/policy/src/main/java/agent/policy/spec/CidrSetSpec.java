package agent.policy.spec;

import java.util.List;

/**
 * A CIDR with exceptions.
 *
 * @param cidr the CIDR
 * @param except the CIDRs within it that are not meant; null for none
 */
public record CidrSetSpec(String cidr, List<String> except) {}
