package agent.contract.policy;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * One ingress entry; a missing peer list allows all peers, an empty one none.
 *
 * @param fromCIDR CIDRs
 * @param fromCIDRSet CIDRs with exceptions
 * @param fromEndpoints peers by labels
 * @param fromEntities peers by entity
 * @param fromRequires labels that peers must have besides
 * @param icmps ICMP types
 * @param toPorts ports
 */
public record IngressModel(
    @JsonProperty("fromCIDR") List<String> fromCIDR,
    @JsonProperty("fromCIDRSet") List<CidrSetModel> fromCIDRSet,
    @JsonProperty("fromEndpoints") List<EndpointSelectorModel> fromEndpoints,
    @JsonProperty("fromEntities") List<String> fromEntities,
    @JsonProperty("fromRequires") List<EndpointSelectorModel> fromRequires,
    @JsonProperty("icmps") List<IcmpModel> icmps,
    @JsonProperty("toPorts") List<PortRuleModel> toPorts) {}
