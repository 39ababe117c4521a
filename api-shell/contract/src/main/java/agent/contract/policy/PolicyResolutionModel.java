package agent.contract.policy;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * Whether a flow would pass.
 *
 * @param log one line for each rule
 * @param verdict ALLOWED or DENIED
 */
public record PolicyResolutionModel(
    @JsonProperty(value = "log", required = true) String log,
    @JsonProperty(value = "verdict", required = true) String verdict) {}
