package agent.contract.identity;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * An identity that local endpoints use.
 *
 * @param identity the identity
 * @param refCount local endpoints that use it, always above 0
 */
public record IdentityInUseModel(
    @JsonProperty("identity") IdentityModel identity, @JsonProperty("refCount") Long refCount) {}
