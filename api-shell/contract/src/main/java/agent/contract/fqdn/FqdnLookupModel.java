package agent.contract.fqdn;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * Addresses of a DNS name that were found together.
 *
 * @param endpointId endpoint whose lookup it was; absent where it was none
 * @param expirationTime until when policy uses the addresses
 * @param fqdn name, with a dot at the end
 * @param ips addresses
 * @param lookupTime when they were found
 * @param source lookup or precache
 * @param ttl seconds for which the answer is valid
 */
public record FqdnLookupModel(
    @JsonProperty("endpoint-id") Long endpointId,
    @JsonProperty("expiration-time") String expirationTime,
    @JsonProperty("fqdn") String fqdn,
    @JsonProperty("ips") List<String> ips,
    @JsonProperty("lookup-time") String lookupTime,
    @JsonProperty("source") String source,
    @JsonProperty("ttl") Long ttl) {}
