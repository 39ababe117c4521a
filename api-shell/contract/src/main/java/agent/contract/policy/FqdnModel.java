package agent.contract.policy;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * A DNS name or a pattern of names.
 *
 * @param matchName name
 * @param matchPattern pattern
 */
public record FqdnModel(
    @JsonProperty("matchName") String matchName,
    @JsonProperty("matchPattern") String matchPattern) {}
