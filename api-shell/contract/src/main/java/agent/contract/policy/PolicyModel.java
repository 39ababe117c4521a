package agent.contract.policy;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * Rules and the revision of the repository.
 *
 * @param policy rules as JSON text
 * @param revision revision
 */
public record PolicyModel(
    @JsonProperty(value = "policy", required = true) String policy,
    @JsonProperty(value = "revision", required = true) Long revision) {}
