package agent.contract.policy;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * A CIDR with exceptions.
 *
 * @param cidr CIDR
 * @param exceptCidrs CIDRs left out
 */
public record CidrSetModel(
    @JsonProperty(value = "cidr", required = true) String cidr,
    @JsonProperty("except") List<String> exceptCidrs) {}
