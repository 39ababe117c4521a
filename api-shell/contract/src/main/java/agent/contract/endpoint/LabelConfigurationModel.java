package agent.contract.endpoint;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * Labels that a user set.
 *
 * @param user labels as [source:]key[=value]
 */
public record LabelConfigurationModel(@JsonProperty("user") List<String> user) {}
