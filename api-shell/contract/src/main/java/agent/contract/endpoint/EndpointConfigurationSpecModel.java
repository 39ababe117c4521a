package agent.contract.endpoint;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.Map;

/**
 * Labels and options of an endpoint, asked for or realized; also the body of PATCH
 * /endpoint/{id}/config.
 *
 * @param labelConfiguration user labels
 * @param options option name to value
 */
public record EndpointConfigurationSpecModel(
    @JsonProperty("label-configuration") LabelConfigurationModel labelConfiguration,
    @JsonProperty("options") Map<String, String> options) {}
