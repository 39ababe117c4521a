package agent.contract.policy;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * A label in three parts.
 *
 * @param key key
 * @param source source
 * @param value value
 */
public record LabelModel(
    @JsonProperty(value = "key", required = true) String key,
    @JsonProperty("source") String source,
    @JsonProperty("value") String value) {}
