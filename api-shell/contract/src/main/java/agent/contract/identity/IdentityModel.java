package agent.contract.identity;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * A security identity.
 *
 * @param id cluster-wide unique number
 * @param labels labels
 * @param labelsSHA256 SHA-256 of the labels, hexadecimal
 */
public record IdentityModel(
    @JsonProperty(value = "id", required = true) Long id,
    @JsonProperty("labels") List<String> labels,
    @JsonProperty("labelsSHA256") String labelsSHA256) {}
