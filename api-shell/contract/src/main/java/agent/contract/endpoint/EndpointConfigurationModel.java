package agent.contract.endpoint;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.Map;

/**
 * Configuration of an endpoint.
 *
 * @param error last error of an application
 * @param immutable options that cannot be changed
 * @param realized configuration in force
 */
public record EndpointConfigurationModel(
    @JsonProperty("error") String error,
    @JsonProperty("immutable") Map<String, String> immutable,
    @JsonProperty("realized") EndpointConfigurationSpecModel realized) {}
