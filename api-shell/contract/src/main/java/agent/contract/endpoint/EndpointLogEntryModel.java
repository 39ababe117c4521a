package agent.contract.endpoint;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * One transition in the log of an endpoint.
 *
 * @param code type of status change
 * @param message message
 * @param state state
 * @param timestamp RFC 3339, UTC, milliseconds
 */
public record EndpointLogEntryModel(
    @JsonProperty("code") String code,
    @JsonProperty("message") String message,
    @JsonProperty("state") String state,
    @JsonProperty("timestamp") String timestamp) {}
