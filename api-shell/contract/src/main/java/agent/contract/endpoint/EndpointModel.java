package agent.contract.endpoint;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * An endpoint as GET and PUT /endpoint/{id} answer it.
 *
 * @param id agent-local id
 * @param source who alone changes and deletes it: {@code api}, or another source of endpoints
 * @param spec what was asked for
 * @param status what is
 */
public record EndpointModel(
    @JsonProperty(value = "id", required = true) Integer id,
    @JsonProperty("source") String source,
    @JsonProperty("spec") EndpointConfigurationSpecModel spec,
    @JsonProperty("status") EndpointStatusModel status) {}
