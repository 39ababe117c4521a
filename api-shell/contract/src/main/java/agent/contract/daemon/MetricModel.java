package agent.contract.daemon;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.Map;

/**
 * One sample of a metric.
 *
 * @param labels label name to value
 * @param name name
 * @param value value
 */
public record MetricModel(
    @JsonProperty("labels") Map<String, String> labels,
    @JsonProperty(value = "name", required = true) String name,
    @JsonProperty(value = "value", required = true) Double value) {}
