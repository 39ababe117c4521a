package agent.contract.policy;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * One egress entry; a missing peer list allows all peers, an empty one none.
 *
 * @param icmps ICMP types
 * @param toCIDR CIDRs
 * @param toCIDRSet CIDRs with exceptions
 * @param toEndpoints peers by labels
 * @param toEntities peers by entity
 * @param toFQDNs peers by DNS name
 * @param toPorts ports
 * @param toRequires labels that peers must have besides
 * @param toServices backends of services
 */
public record EgressModel(
    @JsonProperty("icmps") List<IcmpModel> icmps,
    @JsonProperty("toCIDR") List<String> toCIDR,
    @JsonProperty("toCIDRSet") List<CidrSetModel> toCIDRSet,
    @JsonProperty("toEndpoints") List<EndpointSelectorModel> toEndpoints,
    @JsonProperty("toEntities") List<String> toEntities,
    @JsonProperty("toFQDNs") List<FqdnModel> toFQDNs,
    @JsonProperty("toPorts") List<PortRuleModel> toPorts,
    @JsonProperty("toRequires") List<EndpointSelectorModel> toRequires,
    @JsonProperty("toServices") List<ServicePeerModel> toServices) {}
